// Encrypts with SECRET_KEY what earlier keys have encrypted, so that those need not be listed any more.
import { listPrivateKeys, replacePrivateKey } from '../../db/domains/keys.ts'
import { findAddressKey, replaceAddressKey } from '../../db/opt-outs/key.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const PAGE = 200

/** @property unread what no listed key opens, by the id of its domain key, or `address-key` */
export interface ReEncrypted {
  /** How many values this call encrypted anew. */
  changed: number
  /** How many have SECRET_KEY now, those among them. */
  current: number
  unread: string[]
}

/**
 * Goes through all encrypted values. Each is replaced by itself and only as it was read, so it may run again at any time,
 * beside another one and beside processes that write. What a process with an earlier SECRET_KEY writes meanwhile is left
 * to the next call.
 */
export async function reEncryptAll(
  deps: Pick<CommandDeps, 'db' | 'secrets' | 'wake'>,
  page: number = PAGE,
): Promise<ReEncrypted> {
  const { db, secrets } = deps
  const done: ReEncrypted = { changed: 0, current: 0, unread: [] }
  const each = async (
    purpose: 'dkim-key' | 'address-key',
    id: string,
    from: Buffer,
    replace: (to: Buffer) => Promise<boolean>,
  ) => {
    const to = encryptedAnew(secrets, purpose, from)
    if (to === 'unread') done.unread.push(id)
    else {
      done.current += 1
      if (to && (await replace(to))) done.changed += 1
    }
  }

  const addressKey = await findAddressKey(db)
  if (addressKey) {
    await each('address-key', 'address-key', addressKey, (to) =>
      transact.one(deps, ({ db: trx }) => replaceAddressKey(trx, addressKey, to)),
    )
  }
  for (let after = ''; ; ) {
    const keys = await listPrivateKeys(db, { after, limit: page })
    for (const { id, private_key: from } of keys) {
      await each('dkim-key', id, from, (to) =>
        transact.one(deps, ({ db: trx }) => replacePrivateKey(trx, id, { from, to })),
      )
    }
    const last = keys.at(-1)
    if (!last) return done
    after = last.id
  }
}

/** null: it has this SECRET_KEY. */
function encryptedAnew(
  secrets: CommandDeps['secrets'],
  purpose: 'dkim-key' | 'address-key',
  from: Buffer,
): Buffer | null | 'unread' {
  try {
    return secrets.reEncrypt(purpose, from)
  } catch (err) {
    if (err instanceof Error && err.name === 'SecretError') return 'unread'
    throw err
  }
}
