// Who was erased, came back, and leaves by the mail of before: what runs for them as they are now ends too.
import { type CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { settleDueLeaves } from '../../commands/unsubscribes/settleDue.ts'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { createTestApi } from '../setup/api.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { erasing } from '../setup/erasing.ts'
import { createLeavers, type Leaver, type WaitingMail } from '../setup/leavers.ts'
import { nodesOf, type PlanNode } from '../setup/planNodes.ts'
import { uniqueName } from '../setup/unique.ts'

const clock = { ms: Date.UTC(2026, 0, 1) }
const api = await createTestApi({ now: () => new Date(clock.ms) })
const { db, deps, workspaceId } = api
const leavers = await createLeavers(api)
const { erase } = erasing(api)

interface Returned extends Leaver {
  /** The execution that runs since they are back. */
  executionId: string
  /** The mail of before. */
  old: WaitingMail
}

/** Somebody who got a mail, was erased, and for whom the workflow runs again. */
async function returned(settings: object = {}): Promise<Returned> {
  const one = await leavers.leaver(settings)
  const old = await leavers.mail(one)
  expect(await erase(one.email)).toBe('completed')
  clock.ms += 60_000
  const [executionId = ''] = await one.begin()
  expect(executionId).not.toBe('')
  return { ...one, executionId, old }
}

const endOf = ({ executionId }: { executionId: string }) =>
  db
    .selectFrom('executions')
    .select(['ended_status', 'cancellation_reason'])
    .where('id', '=', executionId)
    .executeTakeFirstOrThrow()
const LEFT = { ended_status: 'CANCELLED', cancellation_reason: 'unsubscribed' }
const RUNS = { ended_status: null, cancellation_reason: null }

const told = async ({ email }: { email: string }) =>
  db
    .selectFrom('automation_events')
    .select(['workspace_id', 'event_name'])
    .where('email', '=', email)
    .where('event_name', 'like', 'email.uns%')
    .execute()

/** The same person and execution in another workspace, as rows alone: they are newer than those of this one. */
async function elsewhere(one: Returned): Promise<{ executionId: string }> {
  const executionId = uniqueName('exe_z')
  const contactId = uniqueName('con_z')
  await sql`
    insert into contacts select (jsonb_populate_record(c, jsonb_build_object('id', ${contactId}::text, 'workspace_id', 'ws_z'))).*
    from contacts c where workspace_id = ${workspaceId} and email = ${one.email}`.execute(db)
  await sql`
    insert into executions select (jsonb_populate_record(x, jsonb_build_object('id', ${executionId}::text, 'workspace_id', 'ws_z',
      'contact_id', ${contactId}::text, 'trigger_event_id', null, 'created_at', x.created_at + interval '1 second'))).*
    from executions x where id = ${one.executionId}`.execute(db)
  return { executionId }
}

test.each<[string, (one: Returned) => Promise<unknown>]>([
  ['one-click', (one) => leavers.visit('POST', one.old)],
  ['mail to the unsubscribe address', (one) => takeUnsubscribe(deps, one.old.token)],
])('%s ends what runs for them now, and is told', async (_name, leave) => {
  const one = await returned()
  const other = await elsewhere(one)
  await leave(one)
  expect(await endOf(one)).toEqual(LEFT)
  expect(await endOf(other), 'of another workspace').toEqual(RUNS)
  const once = [{ workspace_id: workspaceId, event_name: 'email.unsubscribed' }]
  expect(await told(one)).toEqual(once)
  expect(await one.begin()).toEqual([])
  await leave(one)
  expect(await told(one), 'again').toEqual(once)
  const { rows: counted } = await sql`select 1 from email_firsts
    where delivery_id = ${one.old.deliveryId} and kind = 'unsubscribed'`.execute(db)
  expect(counted).toHaveLength(1)
})

test('a GET, which a scanner may have made, ends nothing of theirs, and stops their mail', async () => {
  const one = await returned()
  await leavers.visit('GET', one.old)
  clock.ms += 60_000
  await settleDueLeaves(deps, (err) => {
    throw err
  })
  expect(await endOf(one)).toEqual(RUNS)
  expect(await one.begin()).toEqual([])
})

test('a one-click after a GET ends it at once', async () => {
  const one = await returned()
  await leavers.visit('GET', one.old)
  await leavers.visit('POST', one.old)
  expect(await endOf(one)).toEqual(LEFT)
})

test('a version with skip_sends goes on', async () => {
  const one = await returned({ on_unsubscribe: 'skip_sends' })
  await leavers.visit('POST', one.old)
  expect(await endOf(one)).toEqual(RUNS)
  expect(await told(one)).toHaveLength(1)
})

/** Adds executions of the workflow that run for others, newer than all, and mail to others. */
async function crowd(one: Returned, count: number): Promise<void> {
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, created_at, updated_at)
    select 'exe_' || n, workspace_id, workflow_id, version, 'con_' || n, 'c' || n || '@crowd.test', trigger_node_id,
      created_at + interval '1 minute', updated_at
    from executions, generate_series(1, ${count}::integer) n where id = ${one.executionId}`.execute(
    db,
  )
  await sql`
    insert into deliveries overriding system value
    select (jsonb_populate_record(d, jsonb_build_object('id', 1000000 + n, 'recipient', n || '@crowd.test', 'state', 'queued',
      'settled_at', null, 'address_hmac', '\\x' || lpad(to_hex(n), 32, '0'), 'execution_id', 'exe_' || n))).*
    from deliveries d, generate_series(1, 2000) n where d.id = ${one.old.deliveryId}`.execute(db)
  await sql`analyze executions, deliveries`.execute(db)
}

/** The indexes by which statements look for who is back. */
async function indexesOf(asked: readonly CompiledQuery[]): Promise<string[]> {
  const looks = asked.filter(({ sql: text }) => /"d"."address_hmac" =|, id\) </.test(text))
  return Promise.all(
    looks.map(async ({ sql: text, parameters }) => {
      const { rows } = await api.pool.query(`explain (format json) ${text}`, [...parameters])
      const nodes: PlanNode[] = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)]
      const names = nodes.flatMap((node) => node['Index Name'] ?? [])
      return names.sort().join(' ')
    }),
  )
}

test('of a large workflow the newest executions alone are looked through; who got mail since is found in any', async () => {
  const one = await returned()
  await crowd(one, 20_000)
  const { db: listening, asked } = noteQueries(api.pool)
  await takeUnsubscribe({ ...deps, db: listening }, one.old.token)
  expect(await endOf(one)).toEqual(RUNS)
  const [mail, ...pages] = await indexesOf(asked)
  expect(mail).toMatch(/^contacts_(pkey|list) deliveries_marketing executions_pkey$/)
  expect(pages).toEqual(Array(19).fill('executions_live_workflow'))
  await leavers.visit('POST', one.old, '/undo')
  await leavers.mail(one)
  await leavers.visit('POST', one.old)
  expect(await endOf(one)).toEqual(LEFT)
})
