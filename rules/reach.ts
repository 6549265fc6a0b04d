// What a caller reaches: a whole workspace, or of it one sending domain.
import type { WorkspaceId } from './ids.ts'

/**
 * Taken instead of the workspace by whatever reads or changes mail, domains and keys, or decides who may send: so
 * none of it forgets that an API key may be bound to one domain.
 */
export interface Reach {
  readonly workspaceId: WorkspaceId
  /** The only domain whose mail exists for the caller, and from which they may send; null: every domain. */
  readonly domainId: string | null
}

/** The reach of a caller who is bound to no domain. */
export const wholeWorkspace = (workspaceId: WorkspaceId): Reach => ({ workspaceId, domainId: null })
