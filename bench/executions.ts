// Figure: executions per second, trigger → 3 × send_email → exit, against a hand-written workflow function.
import { Connection } from '@temporalio/client'
import { sql } from 'kysely'
import { recordAutomationEvent } from '../commands/events/record.ts'
import { transact } from '../commands/transact.ts'
import { createNamespace } from '../dev/servers/temporal.ts'
import { isRefusal } from '../rules/refusals.ts'
import { workflowTypes } from '../rules/wire.ts'
import { design, TRIGGER_EVENT } from './executionsDesign.ts'
import { describePostgres } from './machine.ts'
import type { PlainWorker } from './plainWorker.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure } from './report.ts'
import { interleave } from './rounds.ts'
import { withServers } from './servers.ts'
import { startBenchTemporal } from './temporal.ts'
import { waitFor } from './waitFor.ts'
import { createWorkflow, createWorkspace, newId, type Workspace } from './workspace.ts'

const RATIO_AT_LEAST = 2
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

/** The database and Temporal namespace of one side: ours or the reference. */
interface Side {
  workspace: Workspace
  databaseUrl: string
  namespace: string
  /** Executions that were written so far. */
  decided: number
}

export const executions: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const count = options.count ?? (quick ? 20 : 240)
    const postgres = await servers.postgres({ durable: true })
    const temporal = await startBenchTemporal(servers, postgres, options)
    say(`Temporal: ${temporal.description}`)
    const connection = await Connection.connect({ address: temporal.address })
    servers.add(() => connection.close())

    const makeSide = async (name: string): Promise<Side> => {
      const databaseUrl = await servers.database(postgres, `bench_${name}`)
      const workspace = await createWorkspace(databaseUrl)
      servers.add(() => workspace.close())
      await createWorkflow(workspace, databaseUrl, { name: 'Three mails', design })
      await createNamespace(temporal.address, name)
      return { workspace, databaseUrl, namespace: name, decided: 0 }
    }
    const ours = await makeSide('ours')
    const plain = await makeSide('plain')

    await servers.worker({
      databaseUrl: ours.databaseUrl,
      temporalAddress: temporal.address,
      temporalNamespace: ours.namespace,
      env: { WORKER_ROLES: 'executions' },
    })
    const plainWorker = startRemote<PlainWorker>('./plainWorker.ts')
    servers.add(() => plainWorker.stop())
    await plainWorker.call('start', {
      databaseUrl: plain.databaseUrl,
      temporalAddress: temporal.address,
      namespace: plain.namespace,
      domainId: plain.workspace.domainId,
    })

    say(`both workers poll; warming up, then ${rounds} rounds of ${count} executions a side`)
    const warmUp = Math.ceil(count / 10)
    await complete(connection, ours, warmUp)
    await complete(connection, plain, warmUp)
    const pairs = await interleave({
      rounds,
      unit: 'executions/s',
      subject: () => complete(connection, ours, count),
      reference: () => complete(connection, plain, count),
      say,
    })
    await checkSameRows(ours, plain)
    return {
      reference:
        'a hand-written workflow function with three plain activities, each writing the rows of one mail with the ' +
        'same functions (emails, deliveries, email_events, automation_events, execution_steps, the last state), ' +
        'in a worker process with the same settings, starter and outbox; own database and namespace on the same ' +
        `servers; ${count} executions are decided in one commit, and the time runs from it until Temporal shows all ` +
        'of them completed; the delivery role is off on both sides; the other worker is idle',
      rounds,
      figures: [figure('executions', pairs, 'executions/s', { at_least: RATIO_AT_LEAST })],
      postgres: await describePostgres(postgres.url),
      temporal: temporal.description,
    }
  })

/** Writes executions in one commit and waits until all are completed. @returns executions per second */
async function complete(connection: Connection, side: Side, count: number): Promise<number> {
  const { db, workspaceId, addressMac } = side.workspace
  await transact(
    { db, newId, addressMac, now: () => new Date(), wake: () => {} },
    async (inTrx) => {
      for (let i = 0; i < count; i++) {
        const recorded = await recordAutomationEvent(inTrx, workspaceId, {
          eventId: null,
          eventName: TRIGGER_EVENT,
          email: `contact-${side.decided + i}@example.test`,
          properties: { plan: 'pro' },
          at: inTrx.now(),
          contactProperties: { first_name: 'Ada', last_name: 'Lovelace' },
          createContact: true,
        })
        if (!recorded || isRefusal(recorded) || recorded.executionIds.length !== 1) {
          throw new Error('an event started no execution')
        }
      }
    },
  )
  const begin = performance.now()
  await sql`notify dripline_outbox`.execute(db)
  side.decided += count
  const query = `WorkflowType = '${workflowTypes.runExecution}' AND ExecutionStatus = 'Completed'`
  await waitFor(
    DEADLINE_MS,
    `${side.decided} executions of ${side.namespace} complete`,
    async () => {
      const answer = await connection.workflowService.countWorkflowExecutions({
        namespace: side.namespace,
        query,
      })
      return Number(answer.count) >= side.decided ? true : undefined
    },
  )
  return count / ((performance.now() - begin) / 1000)
}

async function checkSameRows(ours: Side, plain: Side): Promise<void> {
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
