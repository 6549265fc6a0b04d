// Figure: from an event to the first mail of its workflow in the sink, when nothing else runs.
import { sql } from 'kysely'
import { createNamespace } from '../dev/servers/temporal.ts'
import { designOf, scenarios, TRIGGER_EVENT } from './automationScenarios.ts'
import type { Machinery } from './automationSides.ts'
import { startRemote } from './remote.ts'
import { type BenchOptions, type Figure, figure, percentile } from './report.ts'
import { interleave } from './rounds.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { waitFor } from './waitFor.ts'
import { createWorkflow, createWorkspace, type Workspace } from './workspace.ts'

const FIRST_MAIL_MS_MAX = 100
const EVENTS = 100
const WARM_UP_EVENTS = 10
const ROUNDS = 3
const DEADLINE_MS = 30_000

/** API and worker are processes of their own; an event is posted over HTTP when the execution of the one before has ended. */
export async function measureFirstMail(
  { servers, postgres, temporalAddress }: Machinery,
  { say, quick }: Pick<BenchOptions, 'say' | 'quick'>,
): Promise<Figure> {
  const events = quick ? 10 : EVENTS
  const what = `event to first mail, idle, 99th percentile of ${events}`
  say(what)
  const databaseUrl = await servers.database(postgres, 'bench_first_mail')
  const workspace = await createWorkspace(databaseUrl)
  servers.add(() => workspace.close())
  const [scenario] = scenarios
  if (!scenario) throw new Error('there is no scenario')
  const design = designOf({ ...scenario, nodes: scenario.nodes.slice(0, 1) })
  await createWorkflow(workspace, databaseUrl, { name: 'First mail', design })
  await createNamespace(temporalAddress, 'first-mail')
  const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
  servers.add(async () => void (await sink.stop()))
  const { port } = await sink.call('start', {})
  const service = {
    databaseUrl,
    temporalAddress,
    temporalNamespace: 'first-mail',
    smtpUrl: `smtp://127.0.0.1:${port}`,
  }
  const worker = await servers.worker(service)
  const api = await servers.api(service)
  await postEach(workspace, api.url, WARM_UP_EVENTS)
  const pairs = await interleave({
    rounds: quick ? 1 : ROUNDS,
    unit: 'ms',
    subject: () => postEach(workspace, api.url, events),
    reference: async () => FIRST_MAIL_MS_MAX,
    say,
  })
  await Promise.all([api.stop(), worker.stop()])
  return figure(what, pairs, 'ms', { at_most: 1 })
}

let contacts = 0

/** @returns the 99th percentile, ms from the request to the reply to the final dot */
async function postEach({ db, token }: Workspace, url: string, count: number): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const email = `first-${contacts++}@example.test`
    const began = Date.now()
    const response = await fetch(`${url}/v1/automation/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ event_name: TRIGGER_EVENT, email, properties: { plan: 'pro' } }),
    })
    if (!response.ok) throw new Error(`an event was answered ${response.status}`)
    const settled = await waitFor(DEADLINE_MS, 'the first mail is delivered', async () => {
      const { rows } = await sql<{ at: Date }>`
        select d.settled_at as at from executions e
        join deliveries d on d.execution_id = e.id and d.settled_at is not null
        where e.email = ${email} and e.ended_status is not null`.execute(db)
      return rows[0]?.at.getTime()
    })
    times.push(settled - began)
  }
  return percentile(times, 0.99)
}
