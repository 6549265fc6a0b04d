// Figure: emails accepted per second against their statements without HTTP.
import { LOOPS, measureAccepted, POOL_SIZE } from './accepted.ts'
import type { SteadyLoad } from './hostile/steadyLoad.ts'
import { describePostgres } from './machine.ts'
import { HTML, SENDER } from './payloads.ts'
import { startRemote } from './remote.ts'
import { type Bench, type BenchOptions, figure } from './report.ts'
import { interleave, type Pair } from './rounds.ts'
import { type Servers, withServers } from './servers.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

const PER_SECOND = 200
const P99_MS_MAX = 25

export const emails: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    const accepted = await measureAccepted(servers, {
      kind: 'emails',
      databaseUrl,
      workspace,
      tables: ['emails', 'deliveries', 'email_events'],
      atLeast: 0.9,
      options,
    })
    const late = await measureLate(servers, databaseUrl, workspace, options)
    return {
      reference:
        'the statements of sendEmail, captured from one request and replayed with new ids, prepared where they ' +
        `were, through a plain pg pool of ${POOL_SIZE} by one process without HTTP, ${LOOPS} at a time as the ` +
        `requests are; ${HTML.length} bytes of html to one recipient; no worker runs, the ledger grows; at ${PER_SECOND} a second: the bar`,
      rounds: accepted.rounds,
      figures: [
        accepted.figure,
        figure(`answers at ${PER_SECOND} a second, 99th percentile`, late, 'ms', { at_most: 1 }),
      ],
      postgres: await describePostgres(databaseUrl),
      temporal: 'none',
    }
  })

/** Emails at a fixed rate: how late answers are, counted from when their requests were due. */
async function measureLate(
  servers: Servers,
  databaseUrl: string,
  { token }: Workspace,
  { say, quick, ...options }: BenchOptions,
): Promise<Pair[]> {
  const seconds = options.seconds ?? (quick ? 3 : 15)
  const api = await servers.api({ databaseUrl })
  const load = startRemote<SteadyLoad>('./hostile/steadyLoad.ts')
  servers.add(() => load.stop())
  let first = 0
  const p99 = async () => {
    const input = {
      port: api.port,
      key: token,
      from: SENDER,
      flowEvent: '',
      only: ['emails'] as const,
    }
    const { emails } = await load.call('run', { ...input, seconds, perSecond: PER_SECOND, first })
    first += seconds * PER_SECOND
    if (emails.statuses['200'] !== emails.sent) throw new Error(JSON.stringify(emails.statuses))
    return emails.p99_ms
  }
  say(`${PER_SECOND} a second, ${seconds} s each time; warming up`)
  await p99()
  const rounds = options.rounds ?? (quick ? 2 : 5)
  return interleave({
    rounds,
    unit: 'ms',
    say,
    subject: p99,
    reference: async () => P99_MS_MAX,
  })
}
