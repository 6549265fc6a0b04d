// Encrypts with SECRET_KEY what earlier keys have encrypted, so that those need not be listed any more.
import { listPrivateKeys, replacePrivateKey } from '../../db/domains/keys.ts'
import {
  type ErasedAddress,
  listErasedAddresses,
  replaceErasedAddress,
} from '../../db/jobs/erasures.ts'
import { findAddressKey, replaceAddressKey } from '../../db/opt-outs/key.ts'
import {
  listAllSecrets,
  listOpenCalls,
  replaceRequest,
  replaceSecret,
  type SecretValue,
  type StoredCall,
} from '../../db/secrets/keys.ts'
import {
  listWebhookSecrets,
  replaceWebhookSecret,
  type WebhookSecret,
} from '../../db/webhooks/keys.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const PAGE = 200

/**
 * @property unread what no listed key opens, by the id of its domain key, `address-key`, the workspace and name of a secret,
 * the execution and segment of a call, the webhook and number of its secret, or the job of an erasure
 */
export interface ReEncrypted {
  /** How many values this call encrypted anew. */
  changed: number
  /** How many have SECRET_KEY now, those among them. */
  current: number
  unread: string[]
}

type Deps = Pick<CommandDeps, 'db' | 'secrets' | 'wake'>
type DomainKey = Awaited<ReturnType<typeof listPrivateKeys>>[number]
type Purpose = 'dkim-key' | 'address-key' | 'secret' | 'http-request' | 'webhook' | 'erasure'
type Each = (
  purpose: Purpose,
  id: string,
  from: Buffer,
  replace: (to: Buffer) => Promise<boolean>,
) => Promise<void>

/**
 * Goes through all encrypted values. Each is replaced by itself and only as it was read, so it may run again at any time,
 * beside another one and beside processes that write. What a process with an earlier SECRET_KEY writes meanwhile is left
 * to the next call.
 */
export async function reEncryptAll(deps: Deps, page: number = PAGE): Promise<ReEncrypted> {
  const { db, secrets } = deps
  const done: ReEncrypted = { changed: 0, current: 0, unread: [] }
  const each: Each = async (purpose, id, from, replace) => {
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
  await eachRow<DomainKey>(
    (last) => listPrivateKeys(db, { after: last?.id ?? '', limit: page }),
    ({ id, private_key: from }) =>
      each('dkim-key', id, from, (to) =>
        transact.one(deps, ({ db: trx }) => replacePrivateKey(trx, id, { from, to })),
      ),
  )
  await reEncryptSecrets(deps, each, page)
  return done
}

/** The secrets of workspaces, the requests that were made with them and are not over, the secrets of webhooks, and whom jobs erase. */
async function reEncryptSecrets(deps: Deps, each: Each, limit: number): Promise<void> {
  const { db } = deps
  await eachRow<SecretValue>(
    (after) => listAllSecrets(db, { after, limit }),
    (row) =>
      each('secret', `${row.workspace_id} ${row.name}`, row.value, (to) =>
        transact.one(deps, ({ db: trx }) => replaceSecret(trx, row, to)),
      ),
  )
  await eachRow<StoredCall>(
    (after) => listOpenCalls(db, { after, limit }),
    (row) =>
      each('http-request', `${row.execution_id} ${row.segment}`, row.request, (to) =>
        transact.one(deps, ({ db: trx }) => replaceRequest(trx, row, to)),
      ),
  )
  await eachRow<WebhookSecret>(
    (after) => listWebhookSecrets(db, { after, limit }),
    (row) =>
      each('webhook', `${row.webhook_id} ${row.id}`, row.secret, (to) =>
        transact.one(deps, ({ db: trx }) => replaceWebhookSecret(trx, row, to)),
      ),
  )
  await eachRow<ErasedAddress>(
    (after) => listErasedAddresses(db, { after, limit }),
    (row) =>
      each('erasure', row.id, Buffer.from(row.address, 'base64'), (to) =>
        transact.one(deps, ({ db: trx }) => replaceErasedAddress(trx, row, to.toString('base64'))),
      ),
  )
}

/** @param list the next page after a row; null begins */
async function eachRow<T>(
  list: (after: T | null) => Promise<T[]>,
  work: (row: T) => Promise<void>,
): Promise<void> {
  for (let after: T | null = null; ; ) {
    const rows: T[] = await list(after)
    for (const row of rows) await work(row)
    const last = rows.at(-1)
    if (!last) return
    after = last
  }
}

/** null: it has this SECRET_KEY. */
function encryptedAnew(
  secrets: CommandDeps['secrets'],
  purpose: Purpose,
  from: Buffer,
): Buffer | null | 'unread' {
  try {
    return secrets.reEncrypt(purpose, from)
  } catch (err) {
    if (err instanceof Error && err.name === 'SecretError') return 'unread'
    throw err
  }
}
