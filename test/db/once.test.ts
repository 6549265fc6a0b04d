// A request that names itself: its work and its answer are one commit, whatever breaks between them.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { type NamedRequest, once } from '../../commands/once.ts'
import { transact } from '../../commands/transact.ts'
import { insertAudience } from '../../db/audiences/writes.ts'
import { currentScope, inScope } from '../../db/scope.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { WakeChannel } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase({ shared: true })
const { workspaceId, userId } = await seedWorkspace(db)
const woken: WakeChannel[] = []
const deps = { db, newId, now, wake: (channel: WakeChannel) => void woken.push(channel) }

let keys = 0
const newRequest = (): NamedRequest => ({
  workspaceId,
  keyHash: Buffer.alloc(32, ++keys),
  fingerprint: Buffer.alloc(32, 1),
})

const made = (status = 201) => ({ status, body: '{"a":1}' })
/** As a request with a key does it. */
const ask = (request: NamedRequest, work: Parameters<typeof once>[2]) =>
  inScope({ owner: { kind: 'workspace', workspaceId }, signal: null }, () =>
    once(deps, request, work),
  )

const audience = (name: string) => {
  const at = now()
  return { id: newId('audience'), name, created_by: userId, created_at: at, updated_at: at }
}
const make = (name: string) =>
  transact(deps, async (inTrx) => {
    inTrx.wake('dripline_outbox')
    await insertAudience(inTrx.db, workspaceId, audience(name))
  })
const count = async (name: string) =>
  (await db.selectFrom('audiences').select('id').where('name', '=', name).execute()).length
const keptCount = async () =>
  (await db.selectFrom('idempotency_keys').select('status').execute()).length

it('shows the work to the reads of the answer, and to others with the answer; then wakes', async () => {
  woken.length = 0
  const outside = inScope({ owner: { kind: 'process' }, signal: null }, () => currentScope())
  const outcome = await ask(newRequest(), async () => {
    await make('read')
    expect(await count('read')).toBe(1)
    expect(await inScope(outside, () => count('read'))).toBe(0)
    expect(woken).toEqual([])
    return made()
  })
  expect(outcome).toEqual({ kind: 'done' })
  expect([await count('read'), woken]).toEqual([1, ['dripline_outbox']])
})

it('leaves nothing of work that throws, that is refused or is answered with an error', async () => {
  const request = newRequest()
  const before = await keptCount()
  woken.length = 0
  await expect(
    ask(request, async () => {
      await make('lost')
      throw new Error('broken')
    }),
  ).rejects.toThrow('broken')
  for (const status of [400, 409, 500, 503]) {
    const outcome = await ask(request, async () => {
      await make('lost')
      return made(status)
    })
    expect(outcome).toEqual({ kind: 'done' })
  }
  const refused = await ask(request, async () => {
    const answer = await transact(deps, async ({ db: trx }): Promise<Refusal<'template_empty'>> => {
      await insertAudience(trx, workspaceId, audience('lost'))
      return refuse('template_empty', {})
    })
    expect(isRefusal(answer)).toBe(true)
    // What comes after a refusal is a transaction of its own.
    await make('instead')
    return made()
  })
  expect(refused).toEqual({ kind: 'done' })
  expect([await count('lost'), await count('instead')]).toEqual([0, 1])
  expect([await keptCount(), woken]).toEqual([before + 1, ['dripline_outbox']])
})

it('tries again after a deadlock, and does the work once', async () => {
  let tries = 0
  const request = newRequest()
  const work = async () => {
    await transact(deps, async ({ db: trx }) => {
      await insertAudience(trx, workspaceId, audience('tried'))
      if (++tries === 1) throw Object.assign(new Error('deadlock'), { code: '40P01' })
    })
    return made()
  }
  expect(await ask(request, work)).toEqual({ kind: 'done' })
  expect([tries, await count('tried')]).toEqual([2, 1])
  expect(await ask(request, work)).toMatchObject({ kind: 'replayed', answer: made() })
  expect(tries).toBe(2)
})

it('refuses a second commit of one request', async () => {
  const work = async () => {
    await make('first')
    await make('second')
    return made()
  }
  await expect(ask(newRequest(), work)).rejects.toThrow('commits once')
  expect([await count('first'), await count('second')]).toEqual([0, 0])
})

it('keeps neither when the connection breaks between the work and the answer', async () => {
  const request = newRequest()
  const work = async (isBroken: boolean) => {
    await make('cut')
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
    const outside = { owner: { kind: 'process' }, signal: null } as const
    if (isBroken)
      await inScope(outside, () => sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(db))
    return made()
  }
  await expect(ask(request, () => work(true))).rejects.toThrow()
  expect(await count('cut')).toBe(0)
  expect(await ask(request, () => work(false))).toEqual({ kind: 'done' })
  expect(await count('cut')).toBe(1)
})

it('lets only one of those work that begin before any of them has committed', async () => {
  const request = newRequest()
  let begun = 0
  let start = () => {}
  const all = new Promise<void>((resolve) => {
    start = resolve
  })
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, () =>
      ask(request, async () => {
        if (++begun === 4) start()
        await all
        await make('raced').catch(() => undefined)
        return made()
      }),
    ),
  )
  expect(outcomes.filter(({ kind }) => kind === 'done')).toHaveLength(1)
  for (const { kind } of outcomes) expect(['done', 'replayed', 'in_progress']).toContain(kind)
  expect(await count('raced')).toBe(1)
})

it('keeps the answer of work without a transaction, too', async () => {
  const request = newRequest()
  expect(await ask(request, async () => made(200))).toEqual({ kind: 'done' })
  const again = await ask(request, async () => made(201))
  expect(again).toMatchObject({ kind: 'replayed', answer: made(200) })
  const other = { ...request, fingerprint: Buffer.alloc(32, 2) }
  expect(await ask(other, async () => made())).toEqual({ kind: 'reused' })
})
