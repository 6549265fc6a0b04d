// After SECRET_KEY has changed and everything was encrypted anew, the service works without the old key.
import { beforeAll, expect, test } from 'vitest'
import { createAddressMac, loadAddressKey } from '../../commands/opt-outs/addressMac.ts'
import { putSecret } from '../../commands/secrets/put.ts'
import { reEncryptAll } from '../../commands/secrets/reEncrypt.ts'
import { transact } from '../../commands/transact.ts'
import { insertCall } from '../../db/executions/calls.ts'
import { listSecretValues } from '../../db/secrets/reads.ts'
import { createSigners } from '../../delivery/compose/signers.ts'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createSecrets, SecretError, type Secrets } from '../../runtime/secrets.ts'
import { createTestDatabase } from '../setup/database.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const { db } = await createTestDatabase()
const wake = () => undefined
const [old, next, foreign] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
]
const before = createSecrets(old)
const rotated = createSecrets(next, [old])
const after = createSecrets(next)

let owner: Awaited<ReturnType<typeof seedWorkspace>>
beforeAll(async () => {
  owner = await seedWorkspace(db)
  // Its domain has a key of the tests' own SECRET_KEY.
  await db.deleteFrom('domain_keys').execute()
})

const insertDomain = async (secrets: Secrets) => {
  const { workspaceId, userId } = owner
  const domain = { workspaceId, userId, name: `${uniqueName('d')}.test`, selector: 's1' }
  return (await insertVerifiedDomain({ db, newId, now, secrets }, domain)).domainId
}
const signs = (secrets: Secrets, domainId: string) =>
  createSigners({ db, secrets, now })(domainId, now())
const macOf = async (secrets: Secrets) => {
  const { of, setKey } = createAddressMac()
  setKey(await loadAddressKey({ db, secrets, now, wake }))
  return of(owner.workspaceId, 'ada@example.test').toString('hex')
}
const reEncrypt = (secrets: Secrets) => reEncryptAll({ db, secrets, wake }, 2)

test('the old key can be dropped: mail is signed, and who has left is still known', async () => {
  const mac = await macOf(before)
  const ids = [await insertDomain(before), await insertDomain(before), await insertDomain(before)]
  await expect(signs(after, ids[0] ?? '')).rejects.toThrow(SecretError)
  await expect(macOf(after)).rejects.toThrow(SecretError)

  // A process that writes with the new key, and two that encrypt anew at once.
  ids.push(await insertDomain(rotated))
  const [one, other] = await Promise.all([reEncrypt(rotated), reEncrypt(rotated)])
  expect(one.changed + other.changed).toBe(4)
  for (const done of [one, other]) expect(done).toMatchObject({ current: 5, unread: [] })

  for (const id of ids) expect((await signs(after, id)).keys).toHaveLength(1)
  expect(await macOf(after)).toBe(mac)
  expect(await reEncrypt(after)).toEqual({ changed: 0, current: 5, unread: [] })
  // A process that still has the old key, and knows the next one.
  for (const id of ids) expect((await signs(createSecrets(old, [next]), id)).keys).toHaveLength(1)
}, 120_000)

test('secrets of designs, and requests that are under way, can be read without the old key', async () => {
  const { workspaceId } = owner
  const store = (name: string, value: string, secrets: Secrets) =>
    putSecret({ db, secrets, now, wake }, wholeWorkspace(workspaceId), { name, value })
  for (const name of ['A', 'B', 'C']) await store(name, `value of ${name}`, before)
  const request = before.encrypt('http-request', Buffer.from('{}'))
  for (const segment of [0, 1, 2]) {
    const executionId = `exe_${segment % 2}`
    const call = {
      executionId,
      segment,
      nodeId: 'n',
      storeAs: null,
      request,
      goalsReached: [],
      now: now(),
    }
    await transact.one({ db, wake }, ({ db: trx }) => insertCall(trx, workspaceId, call))
  }
  expect(await reEncrypt(rotated)).toMatchObject({ changed: 6, unread: [] })
  const found = await listSecretValues(db, wholeWorkspace(workspaceId), ['A', 'B', 'C'])
  expect(found.map(({ value }) => after.decrypt('secret', value).toString()).sort()).toEqual([
    'value of A',
    'value of B',
    'value of C',
  ])
  const calls = await db.selectFrom('http_calls').select('request').execute()
  const open = calls.map((call) => after.decrypt('http-request', call.request ?? Buffer.alloc(0)))
  expect(open.map(String)).toEqual(['{}', '{}', '{}'])
  await db.deleteFrom('http_calls').execute()
  await db.deleteFrom('secrets').execute()
}, 120_000)

test('what a process wrote with the old key meanwhile is found by the next run', async () => {
  const id = await insertDomain(before)
  expect(await reEncrypt(rotated)).toMatchObject({ changed: 1, unread: [] })
  expect((await signs(after, id)).keys).toHaveLength(1)
}, 120_000)

test('a key that no listed one opens is named and left as it is, and the others are encrypted anew', async () => {
  const lost = await insertDomain(createSecrets(foreign))
  const found = await insertDomain(before)
  const rowOf = (domainId: string) =>
    db
      .selectFrom('domain_keys')
      .selectAll()
      .where('domain_id', '=', domainId)
      .executeTakeFirstOrThrow()
  const row = await rowOf(lost)
  expect(await reEncrypt(rotated)).toMatchObject({ changed: 1, unread: [row.id] })
  expect(await rowOf(lost)).toEqual(row)
  expect((await signs(after, found)).keys).toHaveLength(1)
}, 120_000)
