// What Temporal has lost is started again where Postgres has it, and nothing else is.
import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { asShown, createLostRuns, waits } from '../setup/lostRuns.ts'
import { runOperator } from '../setup/operator.ts'

const TEST_MS = 240_000

const server = await createHttpServer()

const { database, db, engine, runToWait, round, lose, outbox, drained, withoutStarter } =
  await createLostRuns()

test(
  'a lost execution goes on in its wait, shows what it showed, and does nothing again',
  async () => {
    const { id, email, shown } = await runToWait('P3D')
    await lose(id)
    await round()
    const again = await engine().waiting(id, 'wait')
    expect(again).toEqual(asShown(shown))
    await engine().post('went.on', email)
    await engine().ended(id, 'COMPLETED')
    expect(await engine().subjects(id)).toEqual(['Hello', 'Thanks'])
    expect(await engine().steps(id)).toEqual([
      'start=default',
      'hello=default',
      'wait=received',
      'thanks=default',
    ])
  },
  TEST_MS,
)

test(
  'a wait whose time is over meanwhile ends at once, one without a deadline waits on',
  async () => {
    const timed = await runToWait('P3D')
    const open = await runToWait()
    await lose(timed.id)
    await lose(open.id)
    const past = { kind: 'wait_event', nodeId: 'wait', until: now().getTime() - 1 }
    const { step, step_count } = timed.shown.memo ?? { step: '', step_count: 0 }
    await db
      .updateTable('execution_segments')
      .set({ result: JSON.stringify({ next: past, step, step_count }) })
      .where('execution_id', '=', timed.id)
      .execute()
    await round()
    await engine().ended(timed.id, 'COMPLETED')
    expect(await engine().subjects(timed.id)).toEqual(['Hello', 'Sorry'])
    expect(await engine().waiting(open.id, 'wait')).toEqual(asShown(open.shown))
  },
  TEST_MS,
)

test(
  'one that was lost while a node called another service makes the call again, and goes on',
  async () => {
    server.answer('/held', () => undefined, json(200, { name: 'Ada' }))
    const data = { method: 'GET', url: `${server.url}/held`, store_as: 'who' }
    const flow = design(
      {
        start: onEvent('began'),
        ask: ['http_request', data],
        thanks: mail('Thanks {{ steps.who.body.name }}'),
        sorry: mail('Sorry'),
      },
      [
        ['start', 'ask'],
        ['ask', 'thanks', 'success'],
        ['ask', 'sorry', 'error'],
      ],
    )
    const { id } = await engine().run(flow)
    await eventually(() => expect(server.came('/held')).toHaveLength(1))
    await lose(id)
    await round()
    await engine().ended(id, 'COMPLETED')
    expect(await engine().subjects(id)).toEqual(['Thanks Ada'])
    const keys = server.came('/held').map(({ headers }) => headers['idempotency-key'])
    expect(keys).toEqual([`${id}:ask:1`, `${id}:ask:1`])
  },
  TEST_MS,
)

test(
  'an event that came while Temporal had lost the execution ends its wait',
  async () => {
    const { id, email } = await runToWait()
    await lose(id)
    await engine().post('went.on', email)
    await drained()
    await round()
    await engine().ended(id, 'COMPLETED')
    expect(await engine().subjects(id)).toEqual(['Hello', 'Thanks'])
  },
  TEST_MS,
)

test(
  'an execution that had not begun begins',
  async () => {
    const id = await withoutStarter(async () => {
      const execution = await engine().run(waits())
      await db.deleteFrom('outbox').where('execution_id', '=', execution.id).execute()
      return execution.id
    })
    await round()
    await engine().waiting(id, 'wait')
  },
  TEST_MS,
)

test(
  'nothing is started that runs, is about to start, is told something or has ended',
  async () => {
    const running = await runToWait()
    const told = await runToWait()
    const cancelled = await runToWait()
    const terminated = await runToWait()
    const completed = await runToWait()
    await engine().post('went.on', completed.email)
    await engine().ended(completed.id, 'COMPLETED')
    await eventually(async () => {
      const { status } = await engine().client.workflow.getHandle(completed.id).describe()
      expect(status.name).toBe('COMPLETED')
    })
    await withoutStarter(async () => {
      const pending = await engine().run(waits())
      await lose(told.id)
      await engine().post('went.on', told.email)
      await lose(cancelled.id)
      const commands = { db, now, wake: () => undefined }
      const given = { executionId: cancelled.id, reason: null }
      await cancelExecution(commands, engine().workspaceId, given)
      await engine().client.workflow.getHandle(terminated.id).terminate('by hand')
      // As after Postgres was restored to an earlier moment. No trigger refuses it then.
      await db.transaction().execute(async (trx) => {
        await sql`set local session_replication_role = replica`.execute(trx)
        const live = { ended_status: null, completed_at: null }
        await trx.updateTable('executions').set(live).where('id', '=', completed.id).execute()
      })
      const before = await outbox()
      expect(before.map((row) => [row.kind, row.execution_id]).sort()).toEqual(
        [
          ['start', pending.id],
          ['signal', told.id],
          ['cancel', cancelled.id],
        ].sort(),
      )
      await round()
      expect(await outbox()).toEqual(before)
      expect((await engine().row(running.id)).ended_status).toBeNull()
      expect(await engine().row(terminated.id)).toMatchObject({
        ended_status: 'CANCELLED',
        cancellation_reason: 'terminated',
      })
      expect((await engine().row(completed.id)).ended_status).toBe('COMPLETED')
    })
    // Its signal found nothing in Temporal; now nothing stands in the way.
    await drained()
    await round()
    await engine().ended(told.id, 'COMPLETED')
    expect(await engine().subjects(told.id)).toEqual(['Hello', 'Thanks'])
  },
  TEST_MS,
)

test(
  'a start for an id that Temporal knows starts nothing, whether its run goes on or has ended',
  async () => {
    const running = await runToWait()
    const ended = await runToWait()
    await engine().client.workflow.getHandle(ended.id).terminate('by hand')
    const runs = async (id: string) => {
      const { runId, status } = await engine().client.workflow.getHandle(id).describe()
      return [runId, status.name]
    }
    const before = [await runs(running.id), await runs(ended.id)]
    for (const { id } of [running, ended]) {
      const { workspace_id, workflow_id, contact_id } = await engine().row(id)
      const row = {
        kind: 'start',
        execution_id: id,
        workspace_id,
        workflow_id,
        contact_id,
      } as const
      const at = now()
      await db
        .insertInto('outbox')
        .values({ ...row, payload: '{}', next_at: at, created_at: at })
        .execute()
    }
    engine().wake()
    await drained()
    expect([await runs(running.id), await runs(ended.id)]).toEqual(before)
    await round()
  },
  TEST_MS,
)

/** `npm run recover`. @returns what it prints */
async function recover(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runOperator('recover', words, {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: engine().namespace,
  })
  expect(code, stderr).toBe(0)
  return stdout
}

test(
  'npm run recover shows what is missing and changes nothing, and starts it when it is told to',
  async () => {
    await round()
    expect(await recover()).toContain('Nothing that lives in Postgres is missing')
    const { id, email } = await runToWait()
    await lose(id)
    const would = await recover()
    expect(would).toMatch(new RegExp(`execution +${id} +${engine().workspaceId} +after segment 0`))
    expect(would).toContain('Nothing was changed')
    await expect(engine().describe(id)).rejects.toThrow()
    expect(await recover('--apply')).toContain('1 that are missing')
    await engine().waiting(id, 'wait')
    expect(await recover('--apply')).toContain('Nothing that lives in Postgres is missing')
    await engine().post('went.on', email)
    await engine().ended(id, 'COMPLETED')
    expect(await engine().subjects(id)).toEqual(['Hello', 'Thanks'])
  },
  TEST_MS,
)
