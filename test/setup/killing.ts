// Rounds of kill -9 under load at seeded moments, and the audit of what is left.
import { Connection } from '@temporalio/client'
import { expect, onTestFinished } from 'vitest'
import { workflowTypes } from '../../rules/wire.ts'
import { eventually } from './eventually.ts'
import { design, insertFlow, mail, onEvent } from './flows.ts'
import { createHarness } from './harness.ts'
import { auditExecutions, auditMail, auditMailEvents, expectDrained } from './ledger.ts'
import { startLoad } from './load.ts'
import { startOwnDatabase } from './ownDatabase.ts'
import { createRandom } from './random.ts'
import { startPrivateTemporal } from './servers.ts'
import type { Reply } from './smtp.ts'

const allTargets = ['api', 'worker', 'everything'] as const
type Target = (typeof allTargets)[number]

/** Messages whose reply after the dot is delayed when a process is killed, so that their outcome is unknown. */
const HELD_MAX = 3
/** After this time the lane and the tasks of a killed worker have moved. */
const PROGRESS_MS = 60_000
/** What is left to send may be thousands of mails, on a machine that does other work. */
const DRAIN_MS = 240_000

const journey = design(
  {
    start: onEvent('ordered'),
    receipt: mail('Receipt', { category: 'transactional' }),
    pause: ['delay', { ms: 300 }],
    wait: ['wait_for_event', { event_name: 'paid', lookback_ms: 3_600_000 }],
    thanks: mail('Thanks'),
  },
  [
    ['start', 'receipt'],
    ['receipt', 'pause'],
    ['pause', 'wait'],
    ['wait', 'thanks', 'received'],
  ],
)
const wholeWay = {
  nodes: ['start', 'receipt', 'pause', 'wait', 'thanks'],
  mails: ['receipt', 'thanks'],
}

export interface KillOptions {
  seed: number
  /** Called before each round (counting from 0); true ends the run. */
  isOver: (round: number) => boolean
  contactsMax: number
  /** What is killed, in turns; absent: all. */
  targets?: readonly Target[]
}

/**
 * Kills and restarts processes, waits until all work is done, and audits. @returns faults (empty if all is well)
 * and counts
 */
export async function killUnderLoad(options: KillOptions) {
  const { seed, isOver, contactsMax, targets = allTargets } = options
  const [{ postgres, ...database }, temporal] = await Promise.all([
    startOwnDatabase(),
    startPrivateTemporal(),
  ])
  const h = await createHarness(database, {
    temporal: { address: temporal.address, namespace: 'default' },
    env: { LEASE_SECONDS: '3' },
  })
  const [worker] = h.workers
  if (!worker) throw new Error('there is no worker')
  await insertFlow(h.db, h, journey)
  const random = createRandom(seed)
  const kills = { api: 0, worker: 0, everything: 0 }

  let held = 0
  let release = () => {}
  let hold: Promise<void> = Promise.resolve()
  h.smtp.setScript((_rcpt, attempt): Reply | undefined => {
    if (attempt > 1 || held >= HELD_MAX || random.next() > 0.05) return undefined
    held += 1
    return { at: 'dot', reply: '250 2.0.0 held', hold }
  })

  const kill: Record<Target, () => Promise<unknown>> = {
    api: () => h.api.kill(),
    worker: () => worker.kill(),
    everything: () => Promise.all([h.api.kill(), worker.kill(), temporal.kill(), postgres.kill()]),
  }
  const restart: Record<Target, () => Promise<unknown>> = {
    api: () => h.api.start(),
    worker: () => worker.start(),
    async everything() {
      await Promise.all([postgres.restart(), temporal.restart()])
      await Promise.all([h.api.start(), worker.start()])
    },
  }

  const load = startLoad({ ...h, events: ['ordered', 'paid'], contactsMax })
  let order: Target[] = []
  for (let round = 0; !isOver(round); round++) {
    if (order.length === 0) order = [...targets].sort(() => random.next() - 0.5)
    const target = order.shift() ?? 'everything'
    held = 0
    hold = new Promise((resolve) => {
      release = resolve
    })
    // The moment of a kill is a number of further answers and messages, not a time, so that a slow machine reaches
    // it too.
    const answers = load.progress() + random.between(10, 60)
    const mails = h.smtp.mails.length + (target === 'api' ? 0 : random.between(5, 60))
    await eventually(
      () => {
        expect(load.answered.faults, `round ${round}`).toEqual([])
        expect(load.progress(), `answers in round ${round}`).toBeGreaterThanOrEqual(answers)
        expect(h.smtp.mails.length, `mails in round ${round}`).toBeGreaterThanOrEqual(mails)
      },
      { deadline_ms: PROGRESS_MS },
    )
    await kill[target]()
    kills[target] += 1
    release()
    await restart[target]()
  }
  h.smtp.setScript({})

  const answered = await load.stop()
  await eventually(() => expectDrained(h.db), { deadline_ms: DRAIN_MS })
  const mail = await auditMail(h.db, h.smtp, answered)
  const executions = await auditExecutions(h.db, answered, wholeWay)
  // The row ends shortly before Temporal closes the run, and visibility shows that shortly after.
  const started = await eventually(async () => {
    const runs = await countRuns(temporal.address)
    expect(runs.completed, 'runs that Temporal has completed, of all').toBe(runs.all)
    return runs
  })
  const told = await auditMailEvents(h.db)
  const suspects = await h.db
    .selectFrom('suspects')
    .selectAll()
    .where('kind', '=', 'segment')
    .execute()
  const faults = [...answered.faults, ...mail.faults, ...executions.faults, ...told.faults]
  if (started.all !== executions.counts['executions']) {
    faults.push(`Temporal ran ${started.all} executions`)
  }
  for (const { id } of suspects) faults.push(`execution ${id} has ended and is still a suspect`)
  const counts = {
    seed,
    kills,
    answered: { emails: answered.emails.size, events: answered.events.size },
    unanswered: answered.unanswered,
    ...mail.counts,
    ...executions.counts,
    ...told.counts,
  }
  return { faults, counts }
}

async function countRuns(address: string) {
  const connection = await Connection.connect({ address })
  onTestFinished(() => connection.close())
  const count = async (more: string) => {
    const query = `WorkflowType = '${workflowTypes.runExecution}'${more}`
    const { count: found } = await connection.workflowService.countWorkflowExecutions({
      namespace: 'default',
      query,
    })
    return Number(found)
  }
  return { all: await count(''), completed: await count(` AND ExecutionStatus = 'Completed'`) }
}
