// Measures the whole path of an email, from the commit that fills the ledger to its settlement, and its processor time.
import { availableParallelism } from 'node:os'
import { opensslSigns } from './machine.ts'
import { postgresTime } from './postgresTime.ts'
import { processorTimeOf } from './processorTime.ts'
import { startRemote } from './remote.ts'
import { middle, rounded } from './report.ts'
import { interleave, type Pair } from './rounds.ts'
import type { Servers } from './servers.ts'
import { measureLatency } from './smtpLatency.ts'
import { type Delivered, deliverLedger, type LedgerLoad } from './smtpLedger.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { startDevTemporal } from './temporal.ts'
import { WORKER_SETTINGS } from './workerSettings.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

const UNSIGNED = {
  NODE_OPTIONS: `${WORKER_SETTINGS.NODE_OPTIONS} --import ${new URL('./unsigned.mjs', import.meta.url).href}`,
}
/** The bar, on a processor that signs 4,130 times a second and core with RSA-2048. */
const CPU_US_MAX = 400
/** `shared_buffers` as Compose sets it. */
const SHARED_BUFFERS = '512MB'
/** Turns of each worker that do not count: V8 compiles it until it has sent some 50,000 mails, and a worker runs for days. */
const WARM_UP = 5
const SLOW_REPLY_MS = 20
const SLOW_CONNECTIONS = 50

export interface PathOptions {
  /** Port of a sink that replies at once. */
  port: number
  rounds: number
  /** Emails of one turn. */
  count: number
  quick: boolean
  say: (line: string) => void
}

/** Delivers the emails of one turn. */
type Deliver = (emails: Pick<LedgerLoad, 'distinct'>) => Promise<Delivered>
type Sides = Pick<PathOptions, 'rounds' | 'say'>

/**
 * Runs a worker for each figure, one after the other, on one database.
 * @returns `whole`: what `bareAndSigned` does, with bodies that differ (`distinct`) and with one body (`same`); `slow`: emails a second with
 *   slow replies against replies at once; `latency`: of one email at a time
 */
export async function measurePath(servers: Servers, options: PathOptions) {
  const { port, count, quick, say } = options
  const postgres = await servers.postgres({ durable: true, sharedBuffers: SHARED_BUFFERS })
  const databaseUrl = await servers.database(postgres, 'bench_smtp')
  const workspace = await createWorkspace(databaseUrl)
  servers.add(() => workspace.close())
  const temporal = await startDevTemporal(servers, say)
  const withWorker = async <T>(
    sinkPort: number,
    env: Record<string, string>,
    run: (deliver: Deliver, pid: number) => Promise<T>,
  ): Promise<T> => {
    const worker = await servers.worker({
      databaseUrl,
      temporalAddress: temporal.address,
      smtpUrl: `smtp://127.0.0.1:${sinkPort}`,
      env: { WORKER_ROLES: 'delivery', ...WORKER_SETTINGS, ...env },
    })
    const used = () => usedBy(workspace, worker.pid, postgres.pid)
    const deliver: Deliver = ({ distinct }) => deliverLedger(workspace, { count, distinct }, used)
    for (let n = 0; n < (quick ? 1 : WARM_UP); n++) await deliver({ distinct: true })
    const result = await run(deliver, worker.pid)
    await worker.stop()
    return result
  }

  say(`the whole path without signatures and signed, in turn, ${count} emails each time`)
  const whole = await withWorker(port, UNSIGNED, async (deliver, pid) => {
    // It has not signed in its warm-up.
    await signedTurn(pid, () => deliver({ distinct: true }))
    return {
      distinct: await bareAndSigned(options, pid, () => deliver({ distinct: true })),
      same: await bareAndSigned(options, pid, () => deliver({ distinct: false })),
    }
  })
  say(`replies after ${SLOW_REPLY_MS} ms against replies at once, ${SLOW_CONNECTIONS} connections`)
  const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
  servers.add(() => sink.stop())
  const started = await sink.call('start', {})
  const many = { SMTP_CONNECTIONS: String(SLOW_CONNECTIONS) }
  const slow = await withWorker(started.port, many, (deliver) =>
    withSlowReplies(options, deliver, (delay_ms) => sink.call('delay', { delay_ms })),
  )
  await sink.stop()
  say('one email at a time, from its request on')
  const latency = await withWorker(port, {}, async () => {
    const api = await servers.api({ databaseUrl })
    const found = await measureLatency(workspace, api.url, quick ? 20 : 200)
    await api.stop()
    return found
  })
  return { whole, slow, latency, databaseUrl, temporal: temporal.description }
}

/** A turn in which a worker that does not sign does (`unsigned.mjs`). */
async function signedTurn<T>(worker: number, deliver: () => Promise<T>): Promise<T> {
  process.kill(worker, 'SIGUSR2')
  const delivered = await deliver()
  process.kill(worker, 'SIGUSR2')
  return delivered
}

/**
 * A turn without signatures and a signed one in each round, so that what the cores could do is known of the minute in which it is asked.
 * @returns `cost`: µs of processor time of an email without signatures, against the bar; `per_second`: how many of these go out a
 *   second; `signed`: emails a second against what the cores could do
 */
async function bareAndSigned(
  { rounds, say }: Sides,
  worker: number,
  deliver: () => Promise<Delivered>,
) {
  const cost: Pair[] = []
  const signed: Pair[] = []
  const rates: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const bare = await deliver()
    const { per_second } = await signedTurn(worker, deliver)
    const reference = possible(bare.cpu_us)
    cost.push({ subject: bare.cpu_us, reference: CPU_US_MAX })
    signed.push({ subject: per_second, reference })
    rates.push(bare.per_second)
    say(
      `round ${round} of ${rounds}: ${rounded(bare.cpu_us)} µs; signed ${rounded(per_second)} of ${rounded(reference)} emails/s, ` +
        `ratio ${rounded(per_second / reference)}`,
    )
  }
  return { cost, signed, per_second: middle(rates).median }
}

function withSlowReplies(
  { rounds, say }: Sides,
  deliver: Deliver,
  delay: (delay_ms: number) => Promise<void>,
): Promise<Pair[]> {
  const repliesAfter = async (delay_ms: number) => {
    await delay(delay_ms)
    return (await deliver({ distinct: true })).per_second
  }
  return interleave({
    rounds,
    say,
    unit: 'emails/s',
    subject: () => repliesAfter(SLOW_REPLY_MS),
    reference: () => repliesAfter(0),
  })
}

/** Emails a second if all cores did nothing but sign with RSA-2048 and what an email costs besides. */
function possible(cpu_us: number): number {
  return availableParallelism() / (1 / opensslSigns(availableParallelism()) + cpu_us / 1_000_000)
}

/** Seconds of processor time of the worker and of Postgres, but for the connections of this benchmark. */
const usedBy = async ({ db }: Workspace, worker: number, postmaster: number): Promise<number> =>
  processorTimeOf(worker) + (await postgresTime(db, postmaster))
