// Figures: webhook deliveries a second from a full ledger, against a bare loop that signs the same bodies and posts them with undici; and how
// soon an event comes, alone and beside endpoints at which nobody answers.
import { describePostgres } from './machine.ts'
import { postgresTime } from './postgresTime.ts'
import { processorTimeOf } from './processorTime.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure, percentile, rounded, type Spread, spread } from './report.ts'
import { interleave } from './rounds.ts'
import { type Servers, withServers } from './servers.ts'
import { startDevTemporal } from './temporal.ts'
import { waitFor } from './waitFor.ts'
import {
  addDead,
  addWebhook,
  BULK,
  countOpen,
  eventData,
  fillLedger,
  letGo,
  SINGLE,
  tellGently,
} from './webhookLedger.ts'
import type { WebhookPosts } from './webhookPosts.ts'
import type { WebhookReceiver } from './webhookReceiver.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

const AT_LEAST = 0.5
const ENDPOINTS = 8
/** What a worker has under way for one endpoint (`webhookUnderWayMax`); the reference has as many of each. */
const LOOPS = ENDPOINTS * 8
const DEADLINE_MS = 180_000
/** From one event to the next at the gentle rate; no part of the 200 ms from one look of a worker to the next. */
const EVERY_MS = 53

interface Running {
  workspace: Workspace
  receiver: ReturnType<typeof startRemote<WebhookReceiver>>
  /** Of the endpoint that answers. */
  url: string
  silentPort: number
  /** Seconds of processor time so far. */
  used(): Promise<{ worker: number; postgres: number }>
}

export const webhooks: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const { running, databaseUrl, temporal } = await start(servers, say)
    const events = Math.ceil((options.count ?? (quick ? 800 : 64_000)) / ENDPOINTS)
    const { pairs, costs } = await measureRate(servers, running, { events, rounds, say })
    const gentle = Math.ceil(((options.seconds ?? (quick ? 2 : 20)) * 1_000) / EVERY_MS)
    const dead = options.rows ?? (quick ? 500 : 10_000)
    const further = await measureLatencies(running, { gentle, dead, say })
    return {
      reference:
        `a bare loop that makes, signs and posts the same bodies with undici, ${LOOPS} at a time over as many connections; ` +
        `a turn is ${events * ENDPOINTS} deliveries to ${ENDPOINTS} endpoints from the moment at which a worker may begin until ` +
        'all have succeeded in the ledger',
      rounds,
      figures: [figure('webhook deliveries', pairs, 'deliveries/s', { at_least: AT_LEAST })],
      further: {
        worker_us_of_a_delivery: spread(
          costs.map(({ worker_us }) => worker_us),
          'µs',
        ),
        postgres_us_of_a_delivery: spread(
          costs.map(({ postgres_us }) => postgres_us),
          'µs',
        ),
        ...further,
      },
      postgres: await describePostgres(databaseUrl),
      temporal,
    }
  })

/** Deliveries a second against the bare loop, and what each cost in the rounds. */
async function measureRate(
  servers: Servers,
  running: Running,
  { events, rounds, say }: { events: number; rounds: number; say: (line: string) => void },
) {
  const { workspace, url } = running
  const posts = startRemote<WebhookPosts>('./webhookPosts.ts')
  servers.add(() => posts.stop())
  let secret = ''
  for (let n = 0; n < ENDPOINTS; n++) secret = await addWebhook(workspace, `${url}/${n}`, BULK)
  const data = JSON.stringify(eventData(1))
  const count = events * ENDPOINTS
  const reference = () => posts.call('run', { url, secret, data, loops: LOOPS, count })
  const costs: Delivered[] = []
  const subject = async () => {
    const delivered = await deliver(running, events)
    costs.push(delivered)
    return delivered.per_second
  }
  say(`${count} deliveries to ${ENDPOINTS} endpoints; warming up`)
  await subject()
  await reference()
  costs.length = 0
  const pairs = await interleave({ rounds, unit: 'deliveries/s', say, subject, reference })
  await posts.stop()
  return { pairs, costs }
}

/** How soon events come at a gentle rate, alone and beside dead endpoints. */
async function measureLatencies(
  running: Running,
  { gentle, dead, say }: { gentle: number; dead: number; say: (line: string) => void },
) {
  const { workspace, receiver, url, silentPort } = running
  await addWebhook(workspace, `${url}/single`, SINGLE)
  say(`${gentle} events, one each ${EVERY_MS} ms, alone`)
  const alone = await measureLatency(running, gentle)
  say(`the same beside ${dead} endpoints at which nobody answers`)
  await addDead(workspace, { count: dead, silentPort })
  const waiting = Math.min(500, dead / 4)
  await waitFor(DEADLINE_MS, 'the dead endpoints are tried', async () =>
    (await receiver.call('silent', {})) >= waiting ? true : undefined,
  )
  const beside = await measureLatency(running, gentle)
  return { ...latency('alone', alone), ...latency(`beside_${dead}_dead`, beside) }
}

async function start(servers: Servers, say: (line: string) => void) {
  const postgres = await servers.postgres({ durable: true })
  const databaseUrl = await servers.database(postgres, 'bench')
  const workspace = await createWorkspace(databaseUrl)
  servers.add(() => workspace.close())
  const temporal = await startDevTemporal(servers, say)
  const receiver = startRemote<WebhookReceiver>('./webhookReceiver.ts')
  servers.add(() => receiver.stop())
  const { port, silentPort } = await receiver.call('start', {})
  const worker = await servers.worker({
    databaseUrl,
    temporalAddress: temporal.address,
    env: { ALLOW_PRIVATE_WEBHOOKS: 'true' },
  })
  // Or a worker that stops would wait for them.
  servers.add(() => receiver.call('endSilent', {}))
  const running: Running = {
    workspace,
    receiver,
    url: `http://127.0.0.1:${port}`,
    silentPort,
    used: async () => ({
      worker: processorTimeOf(worker.pid),
      postgres: await postgresTime(workspace.db, postgres.pid),
    }),
  }
  return { running, databaseUrl, temporal: temporal.description }
}

interface Delivered {
  per_second: number
  /** Processor time of a delivery. */
  worker_us: number
  postgres_us: number
}

/** Fills the ledger, lets it go, and waits until all of it has succeeded. */
async function deliver({ workspace, receiver, used }: Running, events: number): Promise<Delivered> {
  const count = events * ENDPOINTS
  await fillLedger(workspace, events)
  await receiver.call('reset', {})
  const before = await used()
  const begin = performance.now()
  await letGo(workspace)
  await receiver.call('reached', { count })
  await waitFor(DEADLINE_MS, 'all have succeeded', async () =>
    (await countOpen(workspace)) === 0 ? true : undefined,
  )
  const elapsed_s = (performance.now() - begin) / 1_000
  const after = await used()
  const each_us = (from: number, to: number) => rounded(((to - from) / count) * 1_000_000)
  return {
    per_second: count / elapsed_s,
    worker_us: each_us(before.worker, after.worker),
    postgres_us: each_us(before.postgres, after.postgres),
  }
}

/** @returns ms from the statement that tells of each event to its request */
async function measureLatency({ workspace, receiver }: Running, count: number): Promise<number[]> {
  await receiver.call('reset', {})
  await tellGently(workspace, { count, every_ms: EVERY_MS })
  return waitFor(DEADLINE_MS, 'the events have come', async () => {
    const times = await receiver.call('latencies', {})
    return times.length >= count ? times : undefined
  })
}

const latency = (name: string, times: number[]): Record<string, Spread | number> => ({
  [`latency_${name}`]: spread(times, 'ms'),
  [`latency_${name}_p99_ms`]: rounded(percentile(times, 0.99)),
})
