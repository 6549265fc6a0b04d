// A real SMTP server (npm smtp-server) that keeps its messages, and a relay to it.
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { createRelayTransport, type RelayOptions } from '../../../mail/smtp/relay.ts'
import type { MailTransport, Trace } from '../../../mail/transport.ts'
import { closeAfterTest } from './relayHarness.ts'

interface Received {
  from: string
  to: string[]
  bytes: string
  user: string | undefined
  secure: boolean
}

export async function startServer(options: SMTPServerOptions = {}, port = 0) {
  const received: Received[] = []
  const sessions = new Set<string>()
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    // It would warn of the certificate that it comes with, which is what a test of any certificate wants.
    logger: false,
    onConnect(session, callback) {
      sessions.add(session.id)
      callback()
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map((one) => one.address),
          bytes: Buffer.concat(chunks).toString('latin1'),
          user: session.user,
          secure: session.secure,
        })
        callback(null, 'OK: queued')
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()))
  const address = server.server.address()
  const one = {
    received,
    connections: () => sessions.size,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
  closeAfterTest(one)
  return one
}

export function relay(port: number, options: Partial<RelayOptions> = {}): MailTransport {
  const transport = createRelayTransport({
    url: `smtp://127.0.0.1:${port}`,
    connections: 2,
    ehloName: 'us.test',
    ...options,
  })
  closeAfterTest(transport)
  return transport
}

export const small = Buffer.from('From: a@a.test\r\nSubject: s\r\n\r\nHello\r\n')

export function sendTo(transport: MailTransport, to: string, message = small, trace?: Trace) {
  const from = 'b+1.00@bounces.a.test'
  return transport.send({ from, to, bytes: message.length }, message, async () => true, trace)
}
