// A process that only sends mail over SMTP, with the service's client or with nodemailer's pool, unsigned or
// signed.
import { generateKeyPairSync } from 'node:crypto'
import { createTransport } from 'nodemailer'
import { createBodies } from '../mail/compose/bodyCache.ts'
import type { ComposeInput } from '../mail/compose/input.ts'
import { composeMessage, composeSigned } from '../mail/compose/mime.ts'
import { createRelayTransport } from '../mail/smtp/relay.ts'
import { emailBody } from './payloads.ts'
import { serve } from './remote.ts'
import type { Load } from './smtpTools.ts'

const DATE = new Date('2026-11-21T10:00:00Z')
/** Messages under way for each connection. */
const AHEAD = 3
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signers = [{ domain: 'sender.test', selector: 'bench', key: privateKey, date: DATE }]
const bodies = createBodies()

function input(serial: number): ComposeInput {
  const { to, subject, html } = emailBody(serial)
  return {
    id: `em_${serial}`,
    from: { name: 'Bench', address: 'hello@sender.test' },
    to: [{ name: null, address: to }],
    cc: [],
    replyTo: [],
    subject,
    html,
    text: '',
    date: DATE,
    messageId: `em_${serial}@sender.test`,
    headers: {},
    attachments: [],
    unsubscribe: null,
    feedbackId: null,
    automatic: 'no',
  }
}

/** Calls `one` for every message, in `loops` loops. @returns messages per second */
async function timed(mails: number, loops: number, one: (serial: number) => Promise<unknown>) {
  const begin = performance.now()
  let serial = 0
  const loop = async () => {
    while (serial < mails) await one(serial++)
  }
  await Promise.all(Array.from({ length: loops }, loop))
  return mails / ((performance.now() - begin) / 1000)
}

async function ours(
  { port, mails, connections }: Load,
  bytesOf: (serial: number) => Promise<Buffer>,
) {
  const transport = createRelayTransport({
    url: `smtp://127.0.0.1:${port}`,
    connections,
    ehloName: 'mail.bench.test',
  })
  const rate = await timed(mails, connections * AHEAD, async (serial) => {
    const message = await bytesOf(serial)
    const envelope = { from: 'a@sender.test', to: 'b@mail.test', bytes: message.length }
    const outcome = await transport.send(envelope, message, async () => true)
    if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
  })
  await transport.close()
  return rate
}

const handlers = {
  /** Sends one message again and again, which shows the cost of the client alone. */
  async unsigned(load: Load): Promise<number> {
    const message = await composeMessage(input(0))
    return ours(load, async () => message)
  },
  /** Composes and signs each message with RSA-2048. */
  signed: (load: Load): Promise<number> =>
    ours(load, (serial) => composeSigned(input(serial), signers, bodies)),
  async nodemailer({ port, mails, connections }: Load): Promise<number> {
    const message = await composeMessage(input(0))
    const pool = createTransport({
      host: '127.0.0.1',
      port,
      pool: true,
      secure: false,
      ignoreTLS: true,
      maxConnections: connections,
      maxMessages: Number.POSITIVE_INFINITY,
    })
    const envelope = { from: 'a@sender.test', to: ['b@mail.test'] }
    const rate = await timed(mails, connections * AHEAD, () =>
      pool.sendMail({ envelope, raw: message }),
    )
    pool.close()
    return rate
  },
  async messageBytes(_input: object): Promise<number> {
    return (await composeMessage(input(0))).length
  },
}

export type SmtpClientProcess = typeof handlers

serve(handlers)
