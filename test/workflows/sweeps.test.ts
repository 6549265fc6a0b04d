// What a sweep does with executions that ended in Temporal alone, when one of them cannot be read or closed.
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../runtime/log.ts'
import { sweep } from '../../worker/sweeper.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, onEvent } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'

const database = await createTestDatabase()
let engine: Engine
const SOON = { deadline_ms: 90_000 }

beforeAll(async () => {
  engine = await startEngine(database)
}, 60_000)
afterAll(() => engine?.stop())

const waiting = design(
  { start: onEvent('began'), wait: ['wait_for_event', { event_name: 'went.on' }] },
  [['start', 'wait']],
)

/** An execution that was terminated in Temporal while it waited. */
async function runAndTerminate(email?: string) {
  const execution = email ? await engine.run(waiting, email) : await engine.run(waiting)
  await eventually(() => engine.waiting(execution.id, 'wait'), SOON)
  await engine.client.workflow.getHandle(execution.id).terminate('by hand')
  return execution
}

const sweepingWith = (client: Pick<Client, 'workflow'>) => ({
  db: database.db,
  now,
  wake: () => undefined,
  client: client as Client,
  log: createLog('test', 'silent'),
})

/** What visibility lists of executions that have ended, once it knows all of these. */
const listedSoon = (ids: string[]) =>
  eventually(async () => {
    const listed = []
    const query = `ExecutionStatus = 'Terminated'`
    for await (const found of engine.client.workflow.list({ query })) {
      if (ids.includes(found.workflowId)) listed.push(found)
    }
    expect(listed).toHaveLength(ids.length)
    return listed
  }, SOON)

test('a terminated run that was deleted and is listed still is closed by the status of the list', async () => {
  const gone = await runAndTerminate()
  const other = await runAndTerminate()
  const listed = await listedSoon([gone.id, other.id])
  const handle = engine.client.workflow.getHandle(gone.id)
  const { namespace } = engine
  await engine.client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: gone.id },
  })
  await eventually(() => expect(handle.describe()).rejects.toThrow(WorkflowNotFoundError), SOON)
  // Visibility may be behind: it lists what it listed before.
  const workflow = Object.create(engine.client.workflow, {
    list: {
      value: async function* () {
        yield* listed
      },
    },
  })
  await sweep(sweepingWith({ workflow }), new Date(now().getTime() - 60_000))
  for (const { id } of [gone, other]) {
    expect(await engine.row(id)).toMatchObject({
      ended_status: 'CANCELLED',
      cancellation_reason: 'terminated',
    })
  }
}, 240_000)

test('a row that cannot be closed keeps no other row open, and the sweep says that it failed', async () => {
  await sql`create function refuse_end() returns trigger language plpgsql as $$
    begin raise exception 'locked for too long' using errcode = '55P03'; end $$`.execute(
    database.db,
  )
  await sql`create trigger refuse_end before update of ended_status on executions for each row
    when (new.email like 'stuck%') execute function refuse_end()`.execute(database.db)
  const others = [await runAndTerminate()]
  const stuck = await runAndTerminate('stuck@example.test')
  others.push(await runAndTerminate())
  await listedSoon([stuck.id, ...others.map(({ id }) => id)])
  const since = new Date(now().getTime() - 600_000)
  const deps = sweepingWith(engine.client)
  await expect(sweep(deps, since)).rejects.toThrow()
  for (const { id } of others) expect((await engine.row(id)).ended_status).toBe('CANCELLED')
  expect((await engine.row(stuck.id)).ended_status).toBeNull()
  await sql`drop trigger refuse_end on executions`.execute(database.db)
  await sweep(deps, since)
  expect((await engine.row(stuck.id)).ended_status).toBe('CANCELLED')
}, 240_000)
