// The type of a MAC function, for code that signs without knowing the key.
import type { WorkspaceId } from './ids.ts'

/** HMAC-SHA256 with the key of one purpose, truncated to `length_bytes`. */
export type Mac = (bytes: Buffer | string, length_bytes: number) => Buffer

/**
 * Whether `tag` is the `Mac` of `bytes` in its whole length, under the key of now or one of before. It takes the same time
 * for every wrong tag.
 */
export type MacCheck = (bytes: Buffer | string, tag: Buffer) => boolean

/**
 * The HMAC-SHA256 of an address of a workspace, 16 bytes; upper and lower case are the same. It differs between
 * workspaces, so that nobody can tell from opt-outs that they write to the same person.
 * @throws before its key is loaded; `isUnavailable` knows the error
 */
export type AddressMac = (workspaceId: WorkspaceId, address: string) => Buffer
