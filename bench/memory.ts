// Figures: memory of the API and the worker after many emails, and with an html of 40 MB.
import { sql } from 'kysely'
import type { Db } from '../db/connect.ts'
import { findAllocator } from '../dev/servers/allocator.ts'
import { limits } from '../rules/limits.ts'
import { openHttp, postRequest } from './httpConnection.ts'
import type { HttpLoad } from './httpLoad.ts'
import { describePostgres } from './machine.ts'
import { emailBody } from './payloads.ts'
import { memoryOf, resetPeak } from './processMemory.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure, rounded } from './report.ts'
import { withServers } from './servers.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { startDevTemporal } from './temporal.ts'
import { waitFor } from './waitFor.ts'
import { createWorkspace } from './workspace.ts'

const API_MB = 300
const WORKER_MB = 500
const LARGE_HTML_MB = 400
const WORKER_LARGE_MB = 700
const STALL_MS = 100
const LOOPS = 32
const LARGE_ROUNDS = 5
const DEADLINE_MS = 30 * 60_000
const SAY_EVERY_MS = 10_000

export const memory: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const count = options.count ?? (quick ? 1_000 : 100_000)
    const rounds = options.rounds ?? (quick ? 2 : LARGE_ROUNDS)
    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    const temporal = await startDevTemporal(servers, say)
    const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
    servers.add(() => sink.stop())
    const { port } = await sink.call('start', {})
    const service = {
      databaseUrl,
      temporalAddress: temporal.address,
      smtpUrl: `smtp://127.0.0.1:${port}`,
    }
    const [api, worker] = await Promise.all([servers.api(service), servers.worker(service)])
    const load = startRemote<HttpLoad>('./httpLoad.ts')
    servers.add(() => load.stop())

    say(`${count} emails of 2 KB are posted and delivered`)
    const progress = setInterval(async () => {
      const { mails } = await sink.call('totals', {})
      const now = `API ${memoryOf(api.pid).rss} MB, worker ${memoryOf(worker.pid).rss} MB`
      say(`${mails} delivered; ${now}`)
    }, SAY_EVERY_MS)
    try {
      const bounds = { loops: LOOPS, count }
      await load.call('run', {
        kind: 'emails',
        port: api.port,
        key: workspace.token,
        bounds,
        from: 0,
      })
      say('all are accepted')
      await allSettled(workspace.db, count)
    } finally {
      clearInterval(progress)
    }
    const after = { api: memoryOf(api.pid), worker: memoryOf(worker.pid) }

    const large: { subject: number; reference: number }[] = []
    const workerPeaks: { subject: number; reference: number }[] = []
    const stalls: { subject: number; reference: number }[] = []
    const request = largeRequest(workspace.token)
    for (let round = 0; round < rounds; round++) {
      const before = { api: resetPeak(api.pid), worker: resetPeak(worker.pid) }
      await longestStall(worker.url)
      const http = await openHttp(api.port)
      const answer = await http.send(request)
      http.close()
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body.slice(0, 300)}`)
      const cost = rounded(memoryOf(api.pid).peak - before.api)
      large.push({ subject: cost, reference: LARGE_HTML_MB })
      await allSettled(workspace.db, count + round + 1)
      const { peak } = memoryOf(worker.pid)
      const stall_ms = await longestStall(worker.url)
      workerPeaks.push({ subject: peak, reference: WORKER_LARGE_MB })
      stalls.push({ subject: stall_ms, reference: STALL_MS })
      say(
        `40 MB of html: the API took ${cost} MB; the worker's peak is ${peak} MB (before ${before.worker} MB), its ` +
          `longest stall ${stall_ms} ms`,
      )
    }
    const atMost = { at_most: 1 }
    const held = (what: string, subject: number, limit: number) =>
      figure(what, [{ subject, reference: limit }], 'MB', atMost)
    return {
      reference:
        'the limits that are promised: resident memory (VmRSS) of the API and of a worker with both roles, both run ' +
        'from a production build, when ' +
        `${count} emails are accepted and delivered; for the large html, the peak (VmHWM) over what was resident ` +
        'just before the request, and in all of the worker that sends it; the stall is the greatest delay of its event loop',
      rounds,
      figures: [
        held(`API after ${count} emails`, after.api.rss, API_MB),
        held(`worker after ${count} emails`, after.worker.rss, WORKER_MB),
        figure('API for 40 MB of html', large, 'MB', atMost),
        figure('worker while it sends 40 MB of html', workerPeaks, 'MB', atMost),
        figure('longest stall of the worker meanwhile', stalls, 'ms', atMost),
      ],
      further: {
        allocator: findAllocator().name,
        api_peak_mb: after.api.peak,
        worker_peak_mb: after.worker.peak,
      },
      postgres: await describePostgres(databaseUrl),
      temporal: temporal.description,
    }
  })

/** The longest delay of a process's event loop since the last call, in ms. */
async function longestStall(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const seconds = /^nodejs_eventloop_lag_max_seconds\S* (\S+)$/m.exec(text)?.[1]
  if (seconds === undefined) throw new Error('the worker tells no delay of its event loop')
  return rounded(Number(seconds) * 1000)
}

async function allSettled(db: Db, wanted: number): Promise<void> {
  await waitFor(DEADLINE_MS, `${wanted} emails are delivered`, async () => {
    const { rows } = await sql<{ open: boolean }>`
      select exists (select from deliveries where state in ('queued', 'deferred'))
        or exists (select from deliveries where state in ('sending', 'data_sent')) as open
    `.execute(db)
    return rows[0]?.open ? undefined : true
  })
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from deliveries where state = 'delivered'`.execute(db)
  if (rows[0]?.n !== wanted) throw new Error(`${rows[0]?.n} of ${wanted} emails were delivered`)
}

/** A request with the largest allowed html, in lines like those of an editor. */
function largeRequest(key: string): Buffer {
  const line = '<p class="note">A line of a very long newsletter, "quoted" and all that.</p>\n'
  const lines = line.repeat(Math.ceil(limits.htmlBytesMax / line.length))
  const body = { ...emailBody(0), html: lines.slice(0, limits.htmlBytesMax) }
  return postRequest({ path: '/v1/emails', key }, JSON.stringify(body))
}
