// HMACs of addresses, by which opt-outs are found. The key is random and stored encrypted under SECRET_KEY.
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { findAddressKey, insertAddressKey } from '../../db/opt-outs/key.ts'
import type { AddressMac } from '../../rules/mac.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const KEY_BYTES = 32
const MAC_BYTES = 16

/** The key is not loaded yet, because the database was away when the process started. Callers see 503. */
class AddressKeyAway extends Error {
  /** What Postgres says while it starts: `isUnavailable` knows it. */
  readonly code = '57P03'
}

/** Makes a MAC function and the function that gives it its key. */
export function createAddressMac() {
  /** As in `runtime/secrets.ts`, no bytes. */
  let key: KeyObject | undefined
  const of: AddressMac = (workspaceId, address) => {
    if (!key) throw new AddressKeyAway('the key of opt-outs is not loaded yet')
    const text = `${workspaceId}\n${address.toLowerCase()}`
    return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES)
  }
  const setKey = (loaded: Buffer) => {
    key = createSecretKey(loaded)
  }
  return { of, setKey }
}

/**
 * Reads the key, and makes it when there is none.
 * @throws SecretError if it was encrypted with another SECRET_KEY
 */
export async function loadAddressKey(
  deps: Pick<CommandDeps, 'db' | 'secrets' | 'now' | 'wake'>,
): Promise<Buffer> {
  const { secrets } = deps
  const known = await findAddressKey(deps.db)
  if (known) return secrets.decrypt('address-key', known)
  const fresh = secrets.encrypt('address-key', randomBytes(KEY_BYTES))
  await transact.one(deps, ({ db, now }) => insertAddressKey(db, fresh, now()))
  // Another process may have been first.
  const stored = await findAddressKey(deps.db)
  if (!stored) throw new Error('the key of opt-outs is gone that was just written')
  return secrets.decrypt('address-key', stored)
}
