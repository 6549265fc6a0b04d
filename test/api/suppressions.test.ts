// Suppressions: added by hand, listed newest first, removed; which workspace has them, and which one is stronger.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { recordSoftBounce } from '../../db/suppressions/softBounces.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'

interface Suppression {
  email: string
  reason: string
  source_id: string | null
  created: number
  expires_at: number | null
}
interface Page {
  suppressions: Suppression[]
  count: number
  cursor: string | null
}

const DAY_MS = 86_400_000
let time = Date.UTC(2026, 0, 1)
const now = () => new Date(time)
const api = await createTestApi({ now })
await insertTestDomain(api, 'sender.test')

const add = (email: unknown) => api.request('POST', '/v1/suppressions', { email })
const remove = (email: string) => api.request('DELETE', `/v1/suppressions/${email}`)
const list = (query = '') => api.request<Page>('GET', `/v1/suppressions${query}`)
const insert = (email: string, reason: 'bounce' | 'complaint', expires_at: Date | null = null) =>
  transact.one(api.deps, ({ db }) =>
    upsertSuppression(db, api.workspaceId, { email, reason, source_id: 'em_1', expires_at }, now()),
  )
const find = async (email: string) =>
  (await list()).body.suppressions.find((row) => row.email === email)

describe('by hand', () => {
  it('is 201, then 200 with the same body; removed with 204, then 404', async () => {
    const made = await add('Ada@Example.test')
    expect([made.status, made.body]).toEqual([
      201,
      {
        email: 'ada@example.test',
        reason: 'manual',
        source_id: null,
        created: time,
        expires_at: null,
      },
    ])
    time += 1000
    const again = await add('ada@example.test')
    expect([again.status, again.body]).toEqual([200, made.body])
    expect((await remove('ADA@example.test')).status).toBe(204)
    const gone = await remove('ada@example.test')
    expect([gone.status, gone.body]).toMatchObject([404, { code: 'not_found' }])
    expect(await find('ada@example.test')).toBeUndefined()
  })

  it('stops the next email until it is removed', async () => {
    await add('held@example.test')
    const send = async () => {
      const mail = { from: 'a@sender.test', to: 'Held@example.test', subject: 'S', text: 'T' }
      const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
      const read = await api.request<{ last_event: object }>('GET', `/v1/emails/${body.id}`)
      return read.body.last_event
    }
    expect(await send()).toMatchObject({
      status: 'bounced',
      type: 'Permanent',
      subtype: 'OnAccountSuppressionList',
    })
    await remove('held%40example.test')
    expect(await send()).toMatchObject({ status: 'sent' })
  })

  it('makes a temporary one permanent, and leaves a complaint as it is', async () => {
    await insert('soft@example.test', 'bounce', new Date(time + DAY_MS))
    const { created } = (await find('soft@example.test')) ?? {}
    time += 1000
    const lasting = await add('soft@example.test')
    expect([lasting.status, lasting.body]).toMatchObject([
      200,
      { reason: 'manual', expires_at: null, created },
    ])
    await insert('angry@example.test', 'complaint')
    expect((await add('angry@example.test')).body).toMatchObject({ reason: 'complaint' })
    await insert('soft@example.test', 'complaint')
    expect(await find('soft@example.test')).toMatchObject({ reason: 'complaint', created })
    await insert('soft@example.test', 'bounce', new Date(time + DAY_MS))
    expect(await find('soft@example.test')).toMatchObject({ reason: 'complaint', expires_at: null })
  })

  it('is made once by many concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => add('race@example.test')))
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(7).fill(200), 201])
  })

  it.each([
    [undefined],
    [null],
    [7],
    [''],
    ['x'],
    ['a@b'],
    ['A <a@example.test>'],
    ['a@example.test,b@example.test'],
    ['a\u0000@example.test'],
    [`${'a'.repeat(250)}@example.test`],
    [['a@example.test']],
  ])('refuses %j', async (email) => {
    const answer = await add(email)
    expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_request' }])
  })

  it.each([
    ['', 'email_required'],
    ['%20', 'email_required'],
    ['x', 'invalid_email'],
    ['%00', 'invalid_email'],
  ])('refuses the path address %s', async (email, code) => {
    const answer = await remove(email)
    expect([answer.status, answer.body]).toMatchObject([400, { code }])
  })
})

describe('a temporary suppression', () => {
  it('is shown until its end, and not listed, found or used afterwards', async () => {
    await insert('later@example.test', 'bounce', new Date(time + DAY_MS))
    expect(await find('later@example.test')).toMatchObject({
      reason: 'bounce',
      source_id: 'em_1',
      expires_at: time + DAY_MS,
    })
    time += DAY_MS
    expect(await find('later@example.test')).toBeUndefined()
    expect((await remove('later@example.test')).status).toBe(404)
    await insert('later@example.test', 'bounce', new Date(time + DAY_MS))
    time += DAY_MS
    const anew = await add('later@example.test')
    expect([anew.status, anew.body]).toMatchObject([201, { reason: 'manual', created: time }])
  })

  it('loses its soft bounces when it is removed: the next one does not suppress again', async () => {
    const bounce = async () => {
      time += DAY_MS
      const email = 'full@example.test'
      const about = { workspaceId: api.workspaceId, email, emailId: 'em_2', at: now() }
      await transact(api.deps, ({ db }) => recordSoftBounce(db, about))
      return (await find(email))?.reason
    }
    expect([await bounce(), await bounce()]).toEqual([undefined, undefined])
    await add('full@example.test')
    await remove('full@example.test')
    expect([await bounce(), await bounce(), await bounce()]).toEqual([
      undefined,
      undefined,
      'bounce',
    ])
  })
})

describe('the list', () => {
  const fresh = async () => {
    const { token, workspaceId } = await api.createKey({ workspaceName: `w${time}` })
    const headers = { authorization: `Bearer ${token}` }
    time += 1
    return {
      workspaceId,
      page: (query = '') =>
        api.request<Page>('GET', `/v1/suppressions${query}`, undefined, headers),
      add: (email: string) => api.request('POST', '/v1/suppressions', { email }, headers),
    }
  }

  it('comes newest first, 50 at a time, steady while rows come and go', async () => {
    const owner = await fresh()
    const emails = Array.from({ length: 120 }, (_, i) => `r${String(i).padStart(3, '0')}@a.test`)
    for (const [i, email] of emails.entries()) {
      // Three with the same time each.
      if (i % 3 === 0) time += 1
      await owner.add(email)
    }
    const expected = emails.toReversed()
    const first = await owner.page()
    expect(first.body.suppressions.map((row) => row.email)).toEqual(expected.slice(0, 50))
    expect(first.body.count).toBe(50)
    time += 1
    await owner.add('new@a.test')
    await api.db
      .deleteFrom('suppressions')
      .where('workspace_id', '=', owner.workspaceId)
      .where('email', '=', expected[49] ?? '')
      .execute()
    const second = await owner.page(`?cursor=${first.body.cursor}`)
    expect(second.body.suppressions.map((row) => row.email)).toEqual(expected.slice(50, 100))
    const third = await owner.page(`?cursor=${second.body.cursor}`)
    expect(third.body.suppressions.map((row) => row.email)).toEqual(expected.slice(100))
    expect([third.body.count, third.body.cursor]).toEqual([20, null])
    const stolen = await list(`?cursor=${first.body.cursor}`)
    expect([stolen.status, stolen.body]).toMatchObject([400, { code: 'invalid_cursor' }])
  })

  it('is read by its index', async () => {
    const { rows } = await api.db.transaction().execute(async (trx) => {
      // A small table is sorted or read through, which costs less. So both are only taken where no index serves.
      await sql`set local enable_seqscan = off`.execute(trx)
      await sql`set local enable_bitmapscan = off`.execute(trx)
      await sql`set local enable_sort = off`.execute(trx)
      await sql`set local enable_incremental_sort = off`.execute(trx)
      return sql<{ 'QUERY PLAN': string }>`
        explain select * from suppressions where workspace_id = 'ws'
          and (expires_at is null or expires_at > now())
          and (created_at, email) < (now(), 'a') order by created_at desc, email desc limit 51
      `.execute(trx)
    })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('suppressions_list')
    expect(plan).not.toContain('Sort')
  })

  it('is of one workspace alone', async () => {
    const [one, another] = [await fresh(), await fresh()]
    await one.add('mine@example.test')
    expect((await another.page()).body).toEqual({ suppressions: [], count: 0, cursor: null })
    expect((await remove('mine@example.test')).status).toBe(404)
    expect((await one.page()).body.count).toBe(1)
  })

  it.each(['x', 'sup_00000000000000000000000000', 'a@example.test', ''])(
    'refuses the cursor "%s"',
    async (cursor) => {
      const answer = await list(`?cursor=${cursor}`)
      expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_cursor' }])
    },
  )
})
