// Measures the whole path of an email, from the commit that fills the ledger to its settlement, and its processor time.
import { availableParallelism } from 'node:os'
import { opensslSigns } from './machine.ts'
import { postgresTime } from './postgresTime.ts'
import { processorTimeOf } from './processorTime.ts'
import { startRemote } from './remote.ts'
import { middle } from './report.ts'
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
 * @returns `bare`: µs of processor time of an email without signatures, and emails a second, with bodies that differ (`distinct`) and
 *   with one body (`same`); `signed`: emails a second of either against what the cores could do; `slow`: emails a second with slow
 *   replies against replies at once; `latency`: of one email at a time
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
    run: (deliver: Deliver) => Promise<T>,
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
    const result = await run(deliver)
    await worker.stop()
    return result
  }

  say(`the whole path without signatures, ${count} emails each time`)
  const bare = await withWorker(port, UNSIGNED, async (deliver) => ({
    distinct: await withoutSigning(options, () => deliver({ distinct: true })),
    same: await withoutSigning(options, () => deliver({ distinct: false })),
  }))
  say('the whole path, signed, against what all cores could do')
  const signed = await withWorker(port, {}, async (deliver) => ({
    distinct: await withSigning(options, () => deliver({ distinct: true }), bare.distinct.cpu_us),
    same: await withSigning(options, () => deliver({ distinct: false }), bare.same.cpu_us),
  }))
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
  return { bare, signed, slow, latency, databaseUrl, temporal: temporal.description }
}

/** The processor time of an email, and how many go out a second. */
async function withoutSigning({ rounds, say }: Sides, deliver: () => Promise<Delivered>) {
  const rates: number[] = []
  const cost = await interleave({
    rounds,
    say,
    unit: 'µs',
    subject: async () => {
      const { cpu_us, per_second } = await deliver()
      rates.push(per_second)
      return cpu_us
    },
    reference: async () => CPU_US_MAX,
  })
  const cpu_us = middle(cost.map(({ subject }) => subject)).median
  return { cost, cpu_us, per_second: middle(rates).median }
}

/** @param cpu_us of an email without its signature */
function withSigning({ rounds, say }: Sides, deliver: () => Promise<Delivered>, cpu_us: number) {
  return interleave({
    rounds,
    say,
    unit: 'emails/s',
    subject: async () => (await deliver()).per_second,
    reference: async () => possible(cpu_us),
  })
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
