// What one workspace has somebody hold, or has to do by hundreds, keeps no execution of another workspace from going on.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eraseContact } from '../../commands/contacts/erase.ts'
import { taskQueues, workflowTypes } from '../../rules/wire.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { insertAudience, insertScheduled, memberEmail } from '../setup/schedules.ts'
import { uniqueName } from '../setup/unique.ts'

/** As the default of `DATABASE_POOL_SIZE`. */
const database = await createTestDatabase({ poolSize: 20 })
const { db, pool } = database

let engine: Engine
let other: Awaited<ReturnType<typeof seedWorkspace>>
beforeAll(async () => {
  engine = await startEngine(database)
  other = await seedWorkspace(db)
})
afterAll(() => engine?.stop())

const newContact = () => `${uniqueName('c')}@example.test`
const ends = (eventName: string) =>
  design({ start: onEvent(eventName), end: ['exit', {}] }, [['start', 'end']])

/** An execution of the other workspace runs to its end. */
async function othersGoOn(): Promise<void> {
  const eventName = uniqueName('event')
  await insertFlow(db, other, ends(eventName))
  const { executionIds } = await recordEvent(db, other.workspaceId, {
    eventName,
    email: newContact(),
  })
  engine.wake()
  await engine.ended(executionIds[0] ?? '', 'COMPLETED')
}

/** Runs `work` while a transaction holds what the statement locks. */
async function whileHeld(statement: string, parameters: unknown[], work: () => Promise<void>) {
  const holder = await pool.connect()
  try {
    await holder.query('begin')
    await holder.query(statement, parameters)
    await work()
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}

test('twelve contacts who are held take half of the connections, and others go on', async () => {
  const eventName = uniqueName('event')
  await insertFlow(db, engine, ends(eventName))
  const crowd = Array.from({ length: 12 }, newContact)
  await engine.stopStarter()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    for (const email of crowd) ids.push(...(await engine.post(eventName, email)))
  }
  const held = 'select from contacts where email = any($1) for update'
  await whileHeld(held, [crowd], async () => {
    engine.startStarter()
    await untilWaiting(db, 10)
    await othersGoOn()
    await untilWaiting(db, 10)
  })
  for (const id of ids) await engine.ended(id, 'COMPLETED')
}, 180_000)

test('many schedules whose first member is held', async () => {
  const member = memberEmail(0)
  await engine.post(uniqueName('event'), member)
  const audience_id = await insertAudience(db, engine, 1)
  const workflowIds: string[] = []
  await whileHeld('select from contacts where email = $1 for update', [member], async () => {
    for (let n = 0; n < 30; n++) {
      const data = { at: Date.now() + 1_000, audience_id }
      workflowIds.push(await insertScheduled(db, engine, data, now))
    }
    engine.wake()
    await untilWaiting(db, 2)
    await othersGoOn()
    await untilWaiting(db, 2)
  })
  await eventually(
    async () => {
      const started = db.selectFrom('executions').select('id')
      const found = await started.where('workflow_id', 'in', workflowIds).execute()
      expect(found).toHaveLength(workflowIds.length)
    },
    { deadline_ms: 90_000 },
  )
}, 180_000)

/** The job that erases a contact, as after its first page: it waits for no transaction that is open. @returns its id */
async function eraseSomebody(): Promise<string> {
  const email = newContact()
  await recordEvent(db, engine.workspaceId, { eventName: uniqueName('event'), email })
  const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
  const addressMac = await addressMacOf(db)
  const deps = { db, newId, now, wake: () => undefined, secrets, addressMac }
  const id = await eraseContact(deps, engine.workspaceId, { email })
  if (typeof id !== 'string') throw new Error('there is no such contact')
  const input = sql`input || '{"waits_for": []}'`
  await sql`update jobs set input = ${input} where id = ${id}`.execute(db)
  return id
}

test.each([2, 12])(
  'behind %i schedules whose first member is held another one and an erasure come to their turn',
  async (count) => {
    const [held, free] = [newContact(), newContact()]
    await engine.post(uniqueName('event'), held)
    const audienceOf = async (email: string) => {
      const audience_id = await insertAudience(db, engine, 1)
      const member = db.updateTable('audience_contacts').set({ email })
      await member.where('audience_id', '=', audience_id).execute()
      return audience_id
    }
    const schedule = async (email: string) => {
      const data = { at: Date.now() + 1_000, audience_id: await audienceOf(email) }
      return insertScheduled(db, engine, data, now)
    }
    const jobId = await eraseSomebody()
    await whileHeld('select from contacts where email = $1 for update', [held], async () => {
      for (let n = 0; n < count; n++) await schedule(held)
      engine.wake()
      await untilWaiting(db, 2)
      const workflowId = await schedule(free)
      engine.wake()
      const args = [{ jobId, workspaceId: engine.workspaceId }]
      const run = { workflowId: jobId, taskQueue: taskQueues.executions, args }
      await engine.client.workflow.start(workflowTypes.runJob, run)
      const started = db.selectFrom('executions').select('id')
      await eventually(
        async () => {
          const job = db.selectFrom('jobs').select('status').where('id', '=', jobId)
          expect(await job.execute()).toEqual([{ status: 'completed' }])
          expect(await started.where('workflow_id', '=', workflowId).execute()).toHaveLength(1)
        },
        // Behind twelve it takes about ten seconds where the machine does nothing else.
        { deadline_ms: 120_000 },
      )
    })
  },
  180_000,
)

test('150 jobs whose rows are held have two connections', async () => {
  const ids = Array.from({ length: 150 }, () => newId('job'))
  // A page of such a kind is refused as soon as its row is free.
  await sql`insert into jobs (id, workspace_id, kind, status, input, created_at, updated_at)
    select id, ${engine.workspaceId}, 'import', 'running', '{}', ${now()}, ${now()} from unnest(${ids}::text[]) id`.execute(
    db,
  )
  await whileHeld('select from jobs where id = any($1) for update', [ids], async () => {
    const { workspaceId } = engine
    const runs = ids.map((jobId) =>
      engine.client.workflow.start(workflowTypes.runJob, {
        workflowId: jobId,
        taskQueue: taskQueues.executions,
        args: [{ jobId, workspaceId }],
      }),
    )
    await Promise.all(runs)
    await untilWaiting(db, 2)
    await othersGoOn()
    await untilWaiting(db, 2)
  })
  await sql`update jobs set status = 'cancelled' where id = any(${ids}::text[])`.execute(db)
  const [first = ''] = ids
  await eventually(
    async () => {
      const { status } = await engine.client.workflow.getHandle(first).describe()
      expect(status.name).toBe('COMPLETED')
    },
    { deadline_ms: 60_000 },
  )
}, 180_000)
