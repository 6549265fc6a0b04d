// Figures: the SMTP client against smtp-source, nodemailer and openssl, and the whole path from the database to
// the sink.
import { availableParallelism } from 'node:os'
import { describePostgres, opensslSigns } from './machine.ts'
import { buildProduction } from './production.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure, middle } from './report.ts'
import { interleave } from './rounds.ts'
import { withServers } from './servers.ts'
import type { SmtpClientProcess } from './smtpClient.ts'
import { measureLatency } from './smtpLatency.ts'
import { deliverLedger } from './smtpLedger.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { findSmtpTools, runSmtpSource, startSmtpSink } from './smtpTools.ts'
import { startDevTemporal } from './temporal.ts'
import { createWorkspace } from './workspace.ts'

const CONNECTIONS = 10
/** Bar of the whole path, in emails per second. */
const WHOLE_PATH_PER_SECOND = 2_000
/** The recommended settings of a worker that only delivers. */
const SETTINGS = {
  UV_THREADPOOL_SIZE: String(Math.max(1, availableParallelism() - 1)),
  NODE_OPTIONS: '--max-semi-space-size=32',
}
const SLOW_REPLY_MS = 20
const SLOW_CONNECTIONS = 50
const SLOW_PER_SECOND = 1_200

export const smtp: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const mails = quick ? 2_000 : 20_000
    const count = options.count ?? (quick ? 500 : 10_000)
    const tools = findSmtpTools()
    const port = await startSmtpSink(servers, tools)
    const client = startRemote<SmtpClientProcess>('./smtpClient.ts')
    servers.add(() => client.stop())
    const bytes = await client.call('messageBytes', {})
    const load = { port, mails, connections: CONNECTIONS, bytes }
    const few = { ...load, mails: Math.ceil(mails / 5) }
    for (const way of ['unsigned', 'nodemailer', 'signed'] as const) await client.call(way, few)

    const sides = { rounds, unit: 'mails/s', say }
    say(`the client alone, ${bytes} bytes, against smtp-source`)
    const ours = () => client.call('unsigned', load)
    const source = await interleave({
      ...sides,
      subject: ours,
      reference: async () => runSmtpSource(tools, load),
    })
    say("the client alone against nodemailer's pool")
    const nodemailer = await interleave({
      ...sides,
      subject: ours,
      reference: () => client.call('nodemailer', few),
    })
    say('signing with RSA-2048 against openssl speed on one core')
    const signed = await interleave({
      ...sides,
      subject: () => client.call('signed', few),
      reference: async () => opensslSigns(),
    })
    await client.stop()
    const oneThread = startWithOneThread()
    servers.add(() => oneThread.stop())
    await oneThread.call('signed', few)
    const signedByOne = await interleave({
      ...sides,
      subject: () => oneThread.call('signed', few),
      reference: async () => opensslSigns(),
    })
    await oneThread.stop()

    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench_smtp')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    const temporal = await startDevTemporal(servers, say)
    const dist = await buildProduction(servers, say)
    const startWorker = (sinkPort: number, env: Record<string, string>) =>
      servers.worker({
        databaseUrl,
        temporalAddress: temporal.address,
        smtpUrl: `smtp://127.0.0.1:${sinkPort}`,
        env: { WORKER_ROLES: 'delivery', ...SETTINGS, ...env },
        dist,
      })
    let worker = await startWorker(port, {})
    say(`the whole path, ${count} emails each time; warming up`)
    await deliverLedger(workspace, { count, distinct: true })
    const whole = (distinct: boolean) =>
      interleave({
        ...sides,
        unit: 'emails/s',
        subject: () => deliverLedger(workspace, { count, distinct }),
        reference: async () => WHOLE_PATH_PER_SECOND,
      })
    const distinct = await whole(true)
    const same = await whole(false)
    await worker.stop()
    const slow = await measureSlow()
    say('one email at a time, from its request on')
    worker = await startWorker(port, {})
    const api = await servers.api({ databaseUrl, dist })
    const latency = await measureLatency(workspace, api.url, quick ? 20 : 200)
    await api.stop()
    await worker.stop()

    /** Measures with a server that replies slowly, like one on the other side of a network. */
    async function measureSlow() {
      const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
      servers.add(() => sink.stop())
      const started = await sink.call('start', { delay_ms: SLOW_REPLY_MS })
      const slowWorker = await startWorker(started.port, {
        SMTP_CONNECTIONS: String(SLOW_CONNECTIONS),
      })
      say(
        `the whole path with replies after ${SLOW_REPLY_MS} ms and ${SLOW_CONNECTIONS} connections`,
      )
      await deliverLedger(workspace, { count: Math.ceil(count / 5), distinct: true })
      const pairs = await interleave({
        ...sides,
        unit: 'emails/s',
        subject: () => deliverLedger(workspace, { count, distinct: true }),
        reference: async () => SLOW_PER_SECOND,
      })
      await slowWorker.stop()
      await sink.stop()
      return pairs
    }

    const atLeast = (value: number) => ({ at_least: value })
    return {
      reference:
        `client alone: smtp-source of Postfix and nodemailer's pool, ${CONNECTIONS} connections each, into smtp-sink; ` +
        'signed: RSA-2048 signatures per second of openssl on one core (ours signs on one thread, and composes and sends ' +
        `each mail on another); whole path: the bar of ${WHOLE_PATH_PER_SECOND} emails/s, one worker with its default ` +
        'connections, one thread fewer than cores and a young generation of 32 MB, from the commit that fills the ' +
        'ledger to the last settled delivery, signed with RSA-2048',
      rounds,
      figures: [
        figure('whole path, a body for each mail', distinct, 'emails/s', atLeast(1)),
        figure('whole path, one body for all', same, 'emails/s', atLeast(1)),
        figure('whole path, replies after 20 ms, 50 connections', slow, 'emails/s', atLeast(1)),
        figure('client alone against smtp-source', source, 'mails/s', atLeast(0.8)),
        figure("client alone against nodemailer's pool", nodemailer, 'mails/s', atLeast(5)),
        figure(
          'client signing on one thread, against openssl',
          signedByOne,
          'mails/s',
          atLeast(0.85),
        ),
      ],
      further: {
        signing_on_all_threads: middle(signed.map((pair) => pair.subject)).median,
        p99_of_one_at_a_time: latency,
      },
      postgres: await describePostgres(databaseUrl),
      temporal: temporal.description,
    }
  })

/**
 * Starts a client that signs on one thread, like openssl. libuv reads the variable when its first work is queued.
 */
function startWithOneThread() {
  process.env['UV_THREADPOOL_SIZE'] = '1'
  try {
    return startRemote<SmtpClientProcess>('./smtpClient.ts')
  } finally {
    delete process.env['UV_THREADPOOL_SIZE']
  }
}
