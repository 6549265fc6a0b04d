// One customer's mail, events and executions, measured alone and then beside the attacks of another customer.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../db/connect.ts'
import { randomPort } from '../dev/processes/ports.ts'
import type { Attackers, Outcomes } from './hostile/attackers.ts'
import type { Answered, SteadyLoad } from './hostile/steadyLoad.ts'
import { hostileTemplates } from './hostile/templateAttacks.ts'
import { groupsSessions } from './machine.ts'
import { memoryOf, resetPeak } from './processMemory.ts'
import { startRemote } from './remote.ts'
import type { Servers } from './servers.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { startDevTemporal } from './temporal.ts'
import { waitFor } from './waitFor.ts'
import { createWorkflow, createWorkspace, DesignRefused, type Workspace } from './workspace.ts'

const SENDER = 'Shop <hello@sender.test>'
const ATTACKER = 'Attacker <hello@attacker.test>'
const HOSTILE_EVENT = 'hostile'
const FLOW_EVENT = 'flow.begun'
const SETTLED_WITHIN_MS = 120_000
/** The attacks have begun and done their first harm by then. */
const ATTACK_LEAD_MS = 10_000

export interface IsolationOptions {
  /** How long the customer's load runs, alone and beside the attacks. */
  seconds: number
  /** Emails, and events, that the customer posts each second. */
  perSecond: number
  /** How long to wait before memory is read again after the attacks. */
  rest_seconds: number
  /** The attacks by their names; all of them when absent. */
  only?: readonly string[]
  say: (line: string) => void
}

/** What one process was like during a stretch of load. */
interface ProcessState {
  delay_p999_ms: number
  peak_mb: number
}

/** One stretch of the customer's load. */
interface Stretch {
  emails: Answered
  events: Answered
  flows: Answered
  /** From acceptance to delivery, of every mail of the stretch; `worst_ms` of those accepted in each second. */
  delivered: { count: number; p50_ms: number; p99_ms: number; max_ms: number; worst_ms: number[] }
  executions: { completed: number; others: number }
  api: ProcessState
  worker: ProcessState
}

export interface Isolation {
  alone: Stretch
  attacked: Stretch
  attacks: Outcomes
  attackers_cpu_s: number
  /** Resident memory before the attacks and after the rest, MB. */
  memory: { api: { before: number; after: number }; worker: { before: number; after: number } }
  databaseUrl: string
  temporal: string
}

const flow = (event: string, from: string, html: string, to: string) => ({
  nodes: [
    { id: 'begin', type: 'trigger', data: { kind: 'event', event_name: event } },
    { id: 'send', type: 'send_email', data: { from, subject: to, html } },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [
    { id: 'e1', source: 'begin', target: 'send' },
    { id: 'e2', source: 'send', target: 'end' },
  ],
})

const GROUPED =
  'the kernel shares the processor between sessions (kernel.sched_autogroup_enabled is 1), so that priorities count for ' +
  'little; set it to 0 to measure what services of systemd or of containers see'

/** Runs all of it on servers of its own. */
export async function runIsolation(
  servers: Servers,
  { seconds, perSecond, rest_seconds, only, say }: IsolationOptions,
): Promise<Isolation> {
  const postgres = await servers.postgres({ durable: true })
  const databaseUrl = await servers.database(postgres, 'bench')
  const customer = await createWorkspace(databaseUrl)
  const attacker = await createWorkspace(databaseUrl, { name: 'attacker', domain: 'attacker.test' })
  for (const workspace of [customer, attacker]) servers.add(() => workspace.close())
  await prepareFlows(databaseUrl, customer, attacker)
  const { api, worker, temporal } = await startServices(servers, databaseUrl, say)
  const steady = startRemote<SteadyLoad>('./hostile/steadyLoad.ts')
  const attackers = startRemote<Attackers>('./hostile/attackers.ts')
  for (const process of [steady, attackers]) servers.add(() => process.stop())

  let first = 0
  const stretch = async (): Promise<Stretch> => {
    for (const { pid } of [api, worker]) resetPeak(pid)
    for (const { metricsUrl } of [api, worker]) await delayOf(metricsUrl)
    const begun = new Date()
    const input = { port: api.port, key: customer.token, from: SENDER, flowEvent: FLOW_EVENT }
    const answered = await steady.call('run', { ...input, seconds, perSecond, first })
    first += seconds * perSecond
    const state = async ({ pid, metricsUrl }: typeof api) => ({
      delay_p999_ms: await delayOf(metricsUrl),
      peak_mb: memoryOf(pid).peak,
    })
    const states = { api: await state(api), worker: await state(worker) }
    return { ...answered, ...states, ...(await outcomesOf(customer, begun)) }
  }

  say(`${seconds} s of the customer's load alone, after as long to warm up`)
  await stretch()
  const alone = await stretch()
  say(inShort(alone))
  const before = { api: memoryOf(api.pid).rss, worker: memoryOf(worker.pid).rss }
  say(`all attacks begin; the customer's load goes on for ${seconds} s`)
  const target = { port: api.port, key: attacker.token, from: ATTACKER, databaseUrl }
  await attackers.call('start', {
    target: { ...target, workspaceId: attacker.workspaceId, hostileEvent: HOSTILE_EVENT },
    ...(only ? { only } : {}),
  })
  await pause(ATTACK_LEAD_MS)
  const attacked = await stretch()
  say(inShort(attacked))
  const { outcomes, cpu_s } = await attackers.call('stop', {})
  say(`the attacks have ended; memory is read after ${rest_seconds} s`)
  await pause(rest_seconds * 1000)
  const after = { api: memoryOf(api.pid).rss, worker: memoryOf(worker.pid).rss }
  return {
    alone,
    attacked,
    attacks: outcomes,
    attackers_cpu_s: cpu_s,
    memory: {
      api: { before: before.api, after: after.api },
      worker: { before: before.worker, after: after.worker },
    },
    databaseUrl,
    temporal,
  }
}

/** One line of a stretch: the rest takes minutes more. */
const inShort = ({ emails, events, delivered, api, worker }: Stretch): string =>
  `emails ${emails.p99_ms} ms, events ${events.p99_ms} ms (p99); slowest delivery ${delivered.max_ms} ms; ` +
  `event loops ${api.delay_p999_ms}, ${worker.delay_p999_ms} ms`

async function prepareFlows(databaseUrl: string, customer: Workspace, attacker: Workspace) {
  const ours = flow(FLOW_EVENT, SENDER, '<p>Welcome, {{ contact.email }}.</p>', 'Welcome')
  await createWorkflow(customer, databaseUrl, { name: 'Welcome', design: ours })
  let made = 0
  for (const [i, template] of hostileTemplates.entries()) {
    const design = flow(HOSTILE_EVENT, ATTACKER, template, 'hostile')
    try {
      await createWorkflow(attacker, databaseUrl, { name: `Hostile ${i}`, design })
      made += 1
    } catch (err) {
      // What does not parse is refused when a workflow is activated, as it should be.
      if (!(err instanceof DesignRefused)) throw err
    }
  }
  if (made === 0) throw new Error('every hostile workflow was refused: the worker is not attacked')
}

async function startServices(servers: Servers, databaseUrl: string, say: (line: string) => void) {
  if (groupsSessions()) say(GROUPED)
  const temporal = await startDevTemporal(servers, say)
  const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
  servers.add(() => sink.stop())
  const { port } = await sink.call('start', {})
  const service = {
    databaseUrl,
    temporalAddress: temporal.address,
    smtpUrl: `smtp://127.0.0.1:${port}`,
  }
  const metricsPort = await randomPort()
  const api = await servers.api({ ...service, env: { API_METRICS_PORT: String(metricsPort) } })
  const worker = await servers.worker(service)
  return {
    api: { ...api, metricsUrl: `http://127.0.0.1:${metricsPort}` },
    worker: { ...worker, metricsUrl: worker.url },
    temporal: temporal.description,
  }
}

/** The delay of a process's event loop since the last call, 99.9th percentile, ms. */
async function delayOf(metricsUrl: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text()
  const seconds = /^dripline_event_loop_delay_p999_seconds\S* (\S+)$/m.exec(text)?.[1]
  if (seconds === undefined) throw new Error('a process tells no delay of its event loop')
  return Math.round(Number(seconds) * 1000)
}

/** Waits until all mail and executions that began since then have ended, and says how. */
async function outcomesOf({ db, workspaceId }: Workspace, since: Date) {
  await waitFor(SETTLED_WITHIN_MS, "the customer's mail and executions have ended", async () => {
    const { rows } = await sql<{ open: boolean }>`
      select exists (select from executions where workspace_id = ${workspaceId} and ended_status is null)
        or exists (select from deliveries d join emails e on e.id = d.email_id
          where e.workspace_id = ${workspaceId} and d.settled_at is null) as open`.execute(db)
    return rows[0]?.open ? undefined : true
  })
  return {
    delivered: await deliveredOf(db, workspaceId, since),
    executions: await endedOf(db, workspaceId, since),
  }
}

async function deliveredOf(
  db: Db,
  workspaceId: string,
  since: Date,
): Promise<Stretch['delivered']> {
  const { rows } = await sql<Stretch['delivered']>`
    with mails as (
      select extract(epoch from d.settled_at - e.created_at) * 1000 as took, date_trunc('second', e.created_at) as second
      from emails e join deliveries d on d.email_id = e.id
      where e.workspace_id = ${workspaceId} and e.created_at >= ${since} and d.state = 'delivered'
    )
    select count(*)::int as count,
      coalesce(percentile_disc(0.5) within group (order by took), 0)::int as p50_ms,
      coalesce(percentile_disc(0.99) within group (order by took), 0)::int as p99_ms,
      coalesce(max(took), 0)::int as max_ms,
      (select coalesce(json_agg(worst order by second), '[]') from (
        select second, max(took)::int as worst from mails group by second) seconds) as worst_ms
    from mails
  `.execute(db)
  const [row] = rows
  if (!row) throw new Error('the mail could not be counted')
  return row
}

async function endedOf(db: Db, workspaceId: string, since: Date): Promise<Stretch['executions']> {
  const { rows } = await sql<{ completed: number; others: number }>`
    select count(*) filter (where ended_status = 'COMPLETED')::int as completed,
      count(*) filter (where ended_status <> 'COMPLETED')::int as others
    from executions where workspace_id = ${workspaceId} and created_at >= ${since}`.execute(db)
  const [row] = rows
  if (!row) throw new Error('the executions could not be counted')
  return row
}
