// What is too old to be kept is deleted, and nothing else: whoever does it, however often at once, and whatever breaks meanwhile.
// Long because of all that may break.
import { sql } from 'kysely'
import { Registry } from 'prom-client'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { forgetOld } from '../../commands/retention/forget.ts'
import { transact } from '../../commands/transact.ts'
import { connect } from '../../db/connect.ts'
import { retentionParts } from '../../db/retention/parts.ts'
import { countOld } from '../../db/retention/reads.ts'
import { workerSettings } from '../../db/settings.ts'
import { tellOfComplaint } from '../../db/webhooks/complaints.ts'
import { limits } from '../../rules/limits.ts'
import { createLog } from '../../runtime/log.ts'
import { createRetentionMetrics, retentionRound } from '../../worker/retention.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { ago, labelsLeft, labelsOf, NOW, oldRows, usualDays } from '../setup/oldRows.ts'
import { openSession } from '../setup/session.ts'
import { describeTables } from '../setup/tables.ts'

const api = await createTestApi()
const { url, workspaceId } = api
const { db } = connect({
  url,
  poolSize: 4,
  name: 'test',
  settings: workerSettings,
  onIdleError: () => undefined,
})
const parts = retentionParts.map(({ table }) => table)
const wake = () => undefined

beforeEach(async () => {
  await sql`truncate deliveries, executions, retention_parts, webhooks cascade`.execute(db)
  for (const { table } of oldRows) await sql`truncate ${sql.table(table)} cascade`.execute(db)
  for (const { write } of oldRows) await write(db, workspaceId)
})

/** Deletes as a worker does. @returns rows by table, and the tables that failed */
async function forget(change: { now?: Date; page?: number; tables?: readonly string[] } = {}) {
  const deleted: Record<string, number> = {}
  const failed: Record<string, string> = {}
  const { now = NOW, page = 1_000, tables = parts } = change
  await forgetOld(
    { db, now: () => now, wake },
    {
      parts: retentionParts.filter(({ table }) => tables.includes(table)),
      days: usualDays,
      pause: async () => undefined,
      isStopping: () => false,
      page,
      watch: {
        deleted({ table }, rows) {
          deleted[table] = (deleted[table] ?? 0) + rows
        },
        failed({ table }, err) {
          failed[table] = (err as Error).message
        },
      },
    },
  )
  return { deleted, failed }
}

const countsGone = Object.fromEntries(oldRows.map(({ table, gone }) => [table, gone.length]))

test('there are rows of every part', () => {
  expect(oldRows.map(({ table }) => table).sort()).toEqual([...parts].sort())
  expect(oldRows.filter(({ gone, stay }) => gone.length === 0 || stay.length === 0)).toEqual([])
})

test.each([
  ['one by one', 1],
  ['in pages of two', 2],
  ['together', 1_000],
])('exactly what is too old goes, %s, and as much as was counted before', async (_, page) => {
  expect(await labelsLeft(db)).toEqual(labelsOf('gone', 'stay'))
  // Somebody hears of all that happens from here on.
  const webhook = { url: 'https://hooks.example.test/in', events: ['*'] }
  expect((await api.request('POST', '/v1/webhooks', webhook)).status).toBe(201)
  const rest = async () =>
    (await describeTables(db))
      .split('\n')
      .filter((line) => !parts.some((one) => line.startsWith(`${one} `)))
  const before = await rest()
  const counted: Record<string, number> = {}
  // Rows of these go once others have gone.
  const later = ['jobs', 'webhook_events']
  for (const part of retentionParts.filter(({ table }) => !later.includes(table))) {
    const days = typeof part.kept === 'number' ? part.kept / 86_400_000 : usualDays[part.kept]
    const { count, oldest_at } = await countOld(db, part, { before: ago(days), max: 100 })
    expect((oldest_at?.getTime() ?? NOW.getTime()) <= ago(days - 1).getTime()).toBe(true)
    counted[part.table] = count
  }
  const { deleted, failed } = await forget({ page })
  expect(failed).toEqual({})
  // The lines of a job go first, and the deliveries of an event: where one is left of a page, these go in the next round.
  const again = (await forget({ page })).deleted
  const both = Object.fromEntries(
    later.map((table) => [table, (deleted[table] ?? 0) + (again[table] ?? 0)]),
  )
  expect({ ...counted, ...both }).toEqual(countsGone)
  expect({ ...deleted, ...both }).toEqual(countsGone)
  expect(await labelsLeft(db)).toEqual(labelsOf('stay'))
  expect(await rest()).toEqual(before)
})

test('an open or click stays without its address, and is counted as before', async () => {
  await forget()
  const { rows } = await sql<{ data: object }>`select data from email_events order by at`.execute(
    db,
  )
  expect(rows.map(({ data }) => data)).toEqual([
    { link: 'old, without its user agent' },
    { link: 'old, its address is not known' },
    { link: 'old' },
    { link: 'young', ip: '192.0.2.1', user_agent: 'UA' },
  ])
})

test('what a setting keeps longer stays, and goes when its time has come', async () => {
  await forget()
  const { deleted } = await forget({ now: ago(-400) })
  expect(deleted).toMatchObject({ idempotency_keys: 2, email_stats: 1, jobs: 1, suppressions: 2 })
  const left = await labelsLeft(db)
  expect(left['suppressions']).toEqual(['never@mail.test'])
  expect([left['http_calls'], left['soft_bounces']]).toEqual([
    ['live'],
    ['cleared by mail that waits again', 'counts'],
  ])
})

test('many at once delete each row once, and none fails', async () => {
  await sql`
    insert into idempotency_keys (workspace_id, key_hash, fingerprint, status, body, created_at)
    select ${workspaceId}, sha256(n::text::bytea), '', 200, '', ${ago(2)} from generate_series(1, 2500) n`.execute(
    db,
  )
  await sql`
    insert into suppressions (workspace_id, email, reason, created_at, expires_at)
    select ${workspaceId}, n || '@mail.test', 'bounce', ${ago(99)}, ${ago(31)} from generate_series(1, 500) n`.execute(
    db,
  )
  const rounds = await Promise.all([1, 2, 3, 4].map(() => forget({ page: 100 })))
  // A page that others have locked may be passed over by all of them.
  rounds.push(await forget())
  const sum = (table: string) => rounds.reduce((all, { deleted }) => all + (deleted[table] ?? 0), 0)
  expect(rounds.map(({ failed }) => failed)).toEqual(rounds.map(() => ({})))
  expect([sum('idempotency_keys'), sum('suppressions')]).toEqual([2502, 501])
  expect(await labelsLeft(db)).toEqual(labelsOf('stay'))
})

test('a row that somebody holds is left, without waiting, and goes later', async () => {
  const holder = await openSession(url)
  await holder.run('begin')
  await holder.run(`select from suppressions where email = 'expired@mail.test' for update`)
  expect((await forget()).deleted).toMatchObject({ suppressions: 0, former_tokens: 1 })
  await holder.run('commit')
  expect((await forget()).deleted).toMatchObject({ suppressions: 1, former_tokens: 0 })
})

test('a row that was renewed meanwhile stays', async () => {
  const holder = await openSession(url)
  await holder.run('begin')
  await holder.run(`update suppressions set expires_at = null where email = 'expired@mail.test'`)
  // It is seen as it was, and locked.
  await forget()
  await holder.run('commit')
  await forget()
  const left = (await labelsLeft(db))['suppressions']
  expect(left).toEqual(labelsOf('gone', 'stay')['suppressions'])
})

test('a table that is locked and a row that cannot be deleted stop no other part', async () => {
  const strict = connect({
    ...{ url, poolSize: 1, name: 'test', onIdleError: () => undefined },
    settings: { ...workerSettings, lock_timeout: 50 },
  })
  onTestFinished(() => strict.db.destroy())
  await sql`
    create function fail() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$`.execute(
    db,
  )
  await sql`create trigger fail before delete on former_tokens for each row execute function fail()`.execute(
    db,
  )
  const holder = await openSession(url)
  await holder.run('begin')
  await holder.run('lock table complaints')
  const registry = new Registry()
  const deps = { db: strict.db, now: () => NOW, wake, log: createLog('test', 'silent') }
  const metrics = createRetentionMetrics(registry)
  const round = () =>
    retentionRound({ ...deps, retentionDays: usualDays }, metrics, {
      ...{ isStopping: () => false, pause: async () => undefined, places: new Map() },
    })
  await round()
  await holder.run('rollback')
  const expected = labelsOf('stay')
  const all = labelsOf('gone', 'stay')
  const { jobs: _, ...left } = await labelsLeft(db)
  const { jobs: __, ...must } = expected
  expect(left).toEqual({
    ...must,
    complaints: all['complaints'],
    former_tokens: all['former_tokens'],
  })
  const text = await registry.metrics()
  for (const table of ['complaints', 'former_tokens']) {
    expect(text).toContain(`dripline_retention_failures_total{part="${table}"} 1`)
  }
  expect(text).toContain('dripline_retention_deleted_total{part="http_calls"} 2')

  // Within the hour nobody looks again; after it whoever comes first does, and what failed is done.
  await sql`drop trigger fail on former_tokens`.execute(db)
  await round()
  expect((await labelsLeft(db))['complaints']).toEqual(all['complaints'])
  await sql`update retention_parts set next_at = ${NOW}`.execute(db)
  await Promise.all([round(), round()])
  expect(await labelsLeft(db)).toEqual(expected)
})

test('a worker that dies within a page leaves the page as it was', {
  timeout: 90_000,
}, async () => {
  const holder = await openSession(url)
  await holder.run('select pg_advisory_lock(46)')
  await sql`
    create function await_lock() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(46); return old; end $$`.execute(db)
  await sql`create trigger await_lock before delete on email_firsts for each row execute function await_lock()`.execute(
    db,
  )
  const round = forget()
  await eventually(async () => expect(await holder.waiting()).toBe(1))
  await holder.run(`
    select pg_terminate_backend(l.pid) from pg_locks l
    where not l.granted and l.locktype = 'advisory'
      and l.database = (select oid from pg_database where datname = current_database())`)
  const { failed } = await round
  // The part that comes next may get the same connection, which is about to close.
  expect(Object.keys(failed)[0]).toBe('email_firsts')
  expect((await labelsLeft(db))['email_firsts']).toEqual(['old', 'young'])
  await sql`drop trigger await_lock on email_firsts`.execute(db)
  await forget()
  expect(await labelsLeft(db)).toEqual(labelsOf('stay'))
})

test('a complaint that is repeated after its row is gone is not counted and not told again', async () => {
  const { rows } = await sql<{ id: number; email_id: string; recipient: string; settled_at: Date }>`
    select id, email_id, recipient, settled_at from deliveries where email_id = 'old'`.execute(db)
  const [mail] = rows
  if (!mail) throw new Error('there is no such delivery')
  await sql`insert into contacts (id, workspace_id, email, properties, first_seen, last_seen, last_event, created_at, updated_at)
    values ('ct_complaining', ${workspaceId}, ${mail.recipient}, '{}', now(), now(), 'signed_up', now(), now())`.execute(
    db,
  )
  const webhook = { url: 'https://hooks.example.test/in', events: ['*'] }
  await api.request('POST', '/v1/webhooks', webhook)
  const complain = (at: Date) =>
    transact({ db, wake }, ({ db: trx }) =>
      tellOfComplaint(trx, workspaceId, {
        ...{ deliveryId: mail.id, emailId: mail.email_id, email: 'a@mail.test', at },
      }),
    )
  const counts = async () => {
    const { rows: found } = await sql<{ changes: number; complaints: number; told: number }>`
      select (select count(*)::int from email_stat_changes where complained <> 0) as changes,
        (select count(*)::int from complaints where delivery_id = ${mail.id}) as complaints,
        (select count(*)::int from webhook_events where type = 'email.complained') as told`.execute(
      db,
    )
    return found[0]
  }
  const last = new Date(mail.settled_at.getTime() + limits.complaintCountedDays * 86_400_000)
  expect([await complain(last), await complain(new Date(last.getTime() + 1))]).toEqual([
    false,
    false,
  ])
  await forget()
  const before = await counts()
  expect(before?.complaints).toBe(0)
  expect(await complain(NOW)).toBe(false)
  expect(await counts()).toEqual(before)
  // Whoever complains for the first time within a year is counted, once.
  expect([await complain(last), await complain(last)]).toEqual([true, false])
  expect((await counts())?.changes).toBe((before?.changes ?? 0) + 1)
})

test('a suppression that has ended goes unheard, whoever deletes it; one that holds does not', async () => {
  const webhook = { url: 'https://hooks.example.test/in', events: ['suppression.*'] }
  await api.request('POST', '/v1/webhooks', webhook)
  const told = async () =>
    (
      await sql<{
        email: string
      }>`select data->>'email' as email from webhook_events where type = 'suppression.deleted'`.execute(
        db,
      )
    ).rows
  await forget()
  expect((await api.request('DELETE', '/v1/suppressions/lately@mail.test')).status).toBe(404)
  expect(await told()).toEqual([])
  expect((await api.request('DELETE', '/v1/suppressions/never@mail.test')).status).toBe(204)
  expect(await told()).toEqual([{ email: 'never@mail.test' }])
})

test('a round ends after an hour, so that what is through is looked at again; what is left goes on where it was', async () => {
  await sql`
    insert into email_firsts (delivery_id, kind, workspace_id, at)
    select n, 'opened', 'many', ${ago(500)} from generate_series(100, 6099) n`.execute(db)
  const time = { ms: 0, turns: 0 }
  const deps = { db, now: () => NOW, wake, log: createLog('test', 'silent') }
  const places = new Map<string, readonly string[]>()
  const round = () =>
    retentionRound({ ...deps, retentionDays: usualDays }, createRetentionMetrics(new Registry()), {
      ...{ isStopping: () => false, places, clock: () => time.ms },
      async pause() {
        time.turns += 1
        // All parts have had a turn, and the one that has more a second one.
        if (time.turns === parts.length + 1) time.ms += 3_600_000
      },
    })
  await round()
  const left = (await labelsLeft(db))['email_firsts'] ?? []
  expect(left.length).toBeGreaterThan(1_000)
  expect([...places.keys()]).toEqual(['email_firsts'])
  await sql`insert into idempotency_keys (workspace_id, key_hash, fingerprint, status, body, created_at)
    values (${workspaceId}, 'later', '', 200, '', ${ago(2)})`.execute(db)
  await sql`update retention_parts set next_at = ${NOW}`.execute(db)
  await round()
  expect(await labelsLeft(db)).toEqual(labelsOf('stay'))
  expect([...places]).toEqual([])
})

test('it goes on behind the place that it is given', async () => {
  const places = new Map([['http_calls', [ago(40).toISOString(), 'zzz', '0']]])
  const round = () =>
    forgetOld(
      { db, now: () => NOW, wake },
      {
        parts: retentionParts.filter(({ table }) => table === 'http_calls'),
        days: usualDays,
        pause: async () => undefined,
        isStopping: () => false,
        watch: { deleted: () => undefined, failed: () => undefined },
        places,
      },
    )
  await round()
  expect((await labelsLeft(db))['http_calls']).toEqual(labelsOf('gone', 'stay')['http_calls'])
  await round()
  expect((await labelsLeft(db))['http_calls']).toEqual(labelsOf('stay')['http_calls'])
})
