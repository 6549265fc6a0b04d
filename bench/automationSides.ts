// Both sides of a scenario of the automation figures: this service, and a hand-written workflow function.
import type { Connection } from '@temporalio/client'
import { sql } from 'kysely'
import { recordAutomationEvent } from '../commands/events/record.ts'
import { transact } from '../commands/transact.ts'
import { outboxRows } from '../db/outbox.ts'
import type { Postgres } from '../dev/servers/postgres.ts'
import { createNamespace } from '../dev/servers/temporal.ts'
import { isRefusal } from '../rules/refusals.ts'
import { workflowTypes } from '../rules/wire.ts'
import { ANSWER_EVENT, designOf, type Scenario, TRIGGER_EVENT } from './automationScenarios.ts'
import type { PlainWorker } from './plainWorker.ts'
import { startRemote } from './remote.ts'
import type { Servers } from './servers.ts'
import { waitFor } from './waitFor.ts'
import { createWorkflow, createWorkspace, newId, type Workspace } from './workspace.ts'

const DEADLINE_MS = 180_000
/** Tables in which both sides must have written the same number of rows. */
const TABLES = [
  'executions',
  'execution_steps',
  'emails',
  'deliveries',
  'email_events',
  'automation_events',
]

export interface Machinery {
  servers: Servers
  postgres: Postgres
  connection: Connection
  temporalAddress: string
}

/** The database and Temporal namespace of one side: ours or the reference. */
export interface Side {
  isOurs: boolean
  scenario: Scenario
  workspace: Workspace
  databaseUrl: string
  namespace: string
  /** Executions that were written so far. */
  decided: number
  stop: () => Promise<void>
}

/** Makes a side's database and namespace, and starts its worker. */
export async function startSide(
  { servers, postgres, temporalAddress }: Machinery,
  scenario: Scenario,
  isOurs: boolean,
): Promise<Side> {
  const namespace = `${scenario.name}-${isOurs ? 'ours' : 'plain'}`
  const databaseUrl = await servers.database(postgres, `bench_${namespace.replace('-', '_')}`)
  const workspace = await createWorkspace(databaseUrl)
  servers.add(() => workspace.close())
  await createWorkflow(workspace, databaseUrl, {
    name: scenario.name,
    design: designOf(scenario),
  })
  await createNamespace(temporalAddress, namespace)
  const stop = isOurs
    ? await startOurs(servers, { databaseUrl, temporalAddress, namespace })
    : await startPlain(servers, {
        databaseUrl,
        temporalAddress,
        namespace,
        domainId: workspace.domainId,
        scenario,
      })
  return { isOurs, scenario, workspace, databaseUrl, namespace, decided: 0, stop }
}

async function startOurs(
  servers: Servers,
  {
    databaseUrl,
    temporalAddress,
    namespace,
  }: { databaseUrl: string; temporalAddress: string; namespace: string },
) {
  const env = { WORKER_ROLES: 'executions' }
  const worker = await servers.worker({
    databaseUrl,
    temporalAddress,
    temporalNamespace: namespace,
    env,
  })
  return () => worker.stop()
}

async function startPlain(servers: Servers, input: Parameters<PlainWorker['start']>[0]) {
  const worker = startRemote<PlainWorker>('./plainWorker.ts')
  const stop = async () => void (await worker.stop())
  servers.add(stop)
  await worker.call('start', input)
  return stop
}

/**
 * Writes executions in one commit and waits until all are completed; where they wait for an answer, that is written in one commit
 * once all of them wait. @returns executions per second, without the time in which the answers are written
 */
export async function complete(connection: Connection, side: Side, count: number): Promise<number> {
  const ids = await write(side, TRIGGER_EVENT, count)
  let spent = await timed(side, async () => {
    if (side.scenario.isAnswered) await allWait(side, count)
    else await allComplete(connection, side, count)
  })
  if (side.scenario.isAnswered) {
    await write(side, ANSWER_EVENT, count, ids)
    spent += await timed(side, () => allComplete(connection, side, count))
  }
  side.decided += count
  return count / (spent / 1000)
}

/** Wakes the starter of what was written. @returns ms until `done` resolves */
async function timed({ workspace }: Side, done: () => Promise<void>): Promise<number> {
  const begin = performance.now()
  await sql`notify dripline_outbox`.execute(workspace.db)
  await done()
  return performance.now() - begin
}

/**
 * Records an event for each of the contacts of this turn, in one commit.
 * @param answered the executions that it is an answer to; for the reference their signals are written here, since its waits
 *   are not in Postgres
 * @returns the executions that were started
 */
async function write(
  { isOurs, workspace, decided }: Side,
  eventName: string,
  count: number,
  answered?: string[],
): Promise<string[]> {
  const { db, workspaceId, addressMac } = workspace
  const now = () => new Date()
  return transact({ db, newId, addressMac, now, wake: () => {} }, async (inTrx) => {
    const started: string[] = []
    for (let i = 0; i < count; i++) {
      const recorded = await recordAutomationEvent(inTrx, workspaceId, {
        eventId: null,
        eventName,
        email: `contact-${decided + i}@example.test`,
        properties: { plan: 'pro' },
        at: inTrx.now(),
        contactProperties: { first_name: 'Ada', last_name: 'Lovelace' },
        createContact: true,
      })
      if (!recorded || isRefusal(recorded)) throw new Error('an event was refused')
      started.push(...recorded.executionIds)
    }
    if (started.length !== (answered ? 0 : count)) {
      throw new Error(`${count} events started ${started.length} executions`)
    }
    if (answered && !isOurs) {
      await outboxRows(
        sql`select 'signal' as kind, e.id as execution_id, e.workspace_id, e.workflow_id, e.contact_id,
            '{"segment": 0}'::jsonb as payload from executions e where e.id = any(${answered})`,
        inTrx.now(),
      ).execute(inTrx.db)
    }
    return started
  })
}

/** Until this turn's executions wait: of the reference, until their first email is written. */
async function allWait({ isOurs, workspace, decided }: Side, count: number): Promise<void> {
  const { db } = workspace
  await waitFor(DEADLINE_MS, `${count} executions wait`, async () => {
    const { rows } = isOurs
      ? await sql<{ n: number }>`select count(*)::int as n from event_waits`.execute(db)
      : await sql<{ n: number }>`
          select count(*)::int as n from execution_steps where type = 'send_email' and seq = 2`.execute(
          db,
        )
    return (rows[0]?.n ?? 0) >= decided + count ? true : undefined
  })
}

async function allComplete(
  connection: Connection,
  { namespace, decided }: Side,
  count: number,
): Promise<void> {
  const query = `WorkflowType = '${workflowTypes.runExecution}' AND ExecutionStatus = 'Completed'`
  const wanted = decided + count
  await waitFor(DEADLINE_MS, `${wanted} executions of ${namespace} complete`, async () => {
    const { count: found } = await connection.workflowService.countWorkflowExecutions({
      namespace,
      query,
    })
    return Number(found) >= wanted ? true : undefined
  })
}

/** @throws Error when the two sides have not written as many rows of each kind. */
export async function checkSameRows(ours: Side, plain: Side): Promise<void> {
  for (const table of TABLES) {
    const [a, b] = await Promise.all([countRows(ours, table), countRows(plain, table)])
    if (a !== b) throw new Error(`${table}: ${a} rows of ours, ${b} of the reference`)
  }
}

async function countRows({ workspace }: Side, table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from ${sql.table(table)}`.execute(workspace.db)
  return rows[0]?.n ?? 0
}
