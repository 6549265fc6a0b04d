// Figures: the SMTP client against smtp-source, nodemailer and openssl, and the whole path from the database to
// the sink.
import { availableParallelism } from 'node:os'
import { describePostgres, opensslSigns } from './machine.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure, middle } from './report.ts'
import { interleave } from './rounds.ts'
import { withServers } from './servers.ts'
import type { SmtpClientProcess } from './smtpClient.ts'
import { measurePath } from './smtpPath.ts'
import { findSmtpTools, runSmtpSource, startSmtpSink } from './smtpTools.ts'

const CONNECTIONS = 10
/** Rounds of the client that do not count: V8 compiles it until it has sent some 60,000 mails, and a worker runs for days. */
const WARM_UP = 3

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
    for (let n = 0; n < (quick ? 1 : WARM_UP); n++) await client.call('unsigned', load)
    for (const way of ['nodemailer', 'signed'] as const) await client.call(way, few)

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
    say('signing with RSA-2048 against openssl speed of one core')
    const signed = await interleave({
      ...sides,
      subject: () => client.call('signed', few),
      reference: async () => opensslSigns(availableParallelism()),
    })
    await client.stop()
    const oneThread = startWithOneThread()
    servers.add(() => oneThread.stop())
    await oneThread.call('signed', few)
    const signedByOne = await interleave({
      ...sides,
      subject: () => oneThread.call('signed', few),
      // One thread signs while another composes and sends.
      reference: async () => opensslSigns(2),
    })
    await oneThread.stop()

    const path = await measurePath(servers, { port, rounds, count, quick, say })
    const { whole } = path
    const atMostOne = { at_most: 1 }
    const atLeast = (value: number) => ({ at_least: value })
    return {
      reference:
        `client alone: smtp-source of Postfix and nodemailer's pool, ${CONNECTIONS} connections each, into smtp-sink; ` +
        'signed: RSA-2048 signatures per second of openssl on one core, while as many sign as ours keeps busy (it signs on one thread, and composes and sends ' +
        'each mail on another); whole path: one worker with its default connections, one thread fewer than cores and a ' +
        'young generation of 32 MB, from the commit that fills the ledger to the last settled delivery, against what all ' +
        'cores could do by the time of one RSA-2048 signature of openssl in the same round and the processor time of such an ' +
        'unsigned email; slow replies against replies at once over the same connections',
      rounds,
      figures: [
        figure(
          'processor time without signing, a body for each mail',
          whole.distinct.cost,
          'µs',
          atMostOne,
        ),
        figure(
          'processor time without signing, one body for all',
          whole.same.cost,
          'µs',
          atMostOne,
        ),
        figure(
          'whole path, a body for each mail',
          whole.distinct.signed,
          'emails/s',
          atLeast(0.85),
        ),
        figure('whole path, one body for all', whole.same.signed, 'emails/s', atLeast(0.85)),
        figure('replies after 20 ms, 50 connections', path.slow, 'emails/s', atLeast(0.8)),
        figure('client alone against smtp-source', source, 'mails/s', atLeast(0.85)),
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
        whole_path_unsigned_a_body_each_per_second: whole.distinct.per_second,
        whole_path_unsigned_one_body_per_second: whole.same.per_second,
        p99_of_one_at_a_time: path.latency,
      },
      postgres: await describePostgres(path.databaseUrl),
      temporal: path.temporal,
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
