// One SMTP connection: opened once, used for many messages; every end of a message is an Outcome.
import type { Envelope, Outcome, Phase } from '../transport.ts'
import { dotStuffed } from './dots.ts'
import { type Capabilities, openSession, Refused, type SessionOptions } from './handshake.ts'
import { lastLine, rejection } from './outcomes.ts'
import type { SmtpReply } from './replies.ts'
import { type Wire, WireError } from './wire.ts'

export type Session = ReturnType<typeof createSession>

const RESET_MS = 10_000
const QUIT_MS = 1_000
const FINAL_DOT = Buffer.from('.\r\n')

/** A session that is not connected yet: `open` it, `send` one message after the other, `quit`. */
export function createSession(options: SessionOptions) {
  const { phaseMs } = options
  let phase: Phase = 'connect'
  let wire: Wire | null = null
  let capabilities: Capabilities = new Map()
  let messages = 0
  let replies = 0

  const next = async (connection: Wire, waited: Phase): Promise<SmtpReply> => {
    phase = waited
    const reply = await connection.reply(waited, phaseMs[waited])
    replies += 1
    return reply
  }

  const failed = (err: unknown): Outcome => {
    if (err instanceof Refused) return refusalOf(err.phase, err.reply)
    const tls = err instanceof WireError && err.tls
    const error = err instanceof Error ? err.message : String(err)
    return { kind: 'failed', phase: tls ? 'tls' : phase, error }
  }

  /** Connects, says EHLO, starts TLS, logs in. Null, or the outcome that every message now has. */
  async function open(): Promise<Outcome | null> {
    try {
      const opened = await openSession(options, (entered) => {
        phase = entered
      })
      wire = opened.wire
      capabilities = opened.capabilities
      return null
    } catch (err) {
      return failed(err)
    }
  }

  /** MAIL, RCPT and DATA, in one write where the server takes it. Null when the message may be written. */
  async function announce(connection: Wire, envelope: Envelope): Promise<Outcome | null> {
    const commands: [Phase, string][] = [
      ['mail', `MAIL FROM:<${envelope.from}>${mailParameters(envelope, capabilities)}`],
      ['rcpt', `RCPT TO:<${envelope.to}>`],
      ['data', 'DATA'],
    ]
    const pipelined = capabilities.has('PIPELINING')
    if (pipelined) connection.write(`${commands.map(([, line]) => line).join('\r\n')}\r\n`)
    let refusal: Outcome | null = null
    for (const [command, line] of commands) {
      if (!pipelined) connection.write(`${line}\r\n`)
      const reply = await next(connection, command)
      const accepted = command === 'data' ? reply.code === 354 : reply.code < 300
      if (accepted) {
        // It wants a message that has no recipient: hanging up is the one answer that sends none.
        if (refusal && command === 'data') connection.close()
        continue
      }
      refusal ??= refusalOf(command, reply)
      if (reply.code === 421 || reply.code < 400) connection.close()
      if (!pipelined || connection.isBroken()) break
    }
    return refusal
  }

  /** One transaction. A session that is not `usable` afterwards has been closed. */
  async function send(
    envelope: Envelope,
    message: Buffer,
    beforeDot: () => Promise<boolean>,
  ): Promise<Outcome> {
    const connection = wire
    if (!connection) return { kind: 'failed', phase, error: 'the connection is not open' }
    const unsent = refusedUnsent(envelope, capabilities)
    if (unsent) return unsent
    messages += 1
    phase = 'mail'
    let released = false
    try {
      const refusal = await announce(connection, envelope)
      if (refusal) return refusal
      phase = 'body'
      await connection.writeAll(dotStuffed(message), phaseMs.body)
      if (connection.unasked() > 0) return early(connection, await next(connection, 'body'))
      if (!(await beforeDot())) {
        connection.close()
        return { kind: 'lost_lease' }
      }
      if (connection.unasked() > 0) return early(connection, await next(connection, 'body'))
      if (connection.isBroken())
        return { kind: 'failed', phase: 'body', error: 'the connection was closed' }
      released = true
      connection.write(FINAL_DOT)
      const reply = await next(connection, 'dot')
      if (reply.code === 421) connection.close()
      if (reply.code < 300) return { kind: 'delivered', reply: lastLine(reply.text) }
      if (reply.code >= 400) return rejection('dot', reply.text)
      connection.close()
      return { kind: 'ambiguous', error: `the dot was answered with ${reply.code}` }
    } catch (err) {
      connection.close()
      // A server that refuses a body and hangs up has said why.
      if (phase === 'body' && connection.unasked() > 0)
        return early(connection, await next(connection, 'body'))
      if (released)
        return { kind: 'ambiguous', error: err instanceof Error ? err.message : String(err) }
      return failed(err)
    }
  }

  /** RSET, after a transaction that was refused. A session that does not take it is closed. */
  async function reset(): Promise<void> {
    if (!wire || wire.isBroken()) return
    try {
      wire.write('RSET\r\n')
      const reply = await wire.reply('RSET', RESET_MS)
      if (reply.code >= 300) wire.close()
    } catch {
      wire.close()
    }
  }

  /** Says QUIT and waits a moment for the answer. */
  async function quit(): Promise<void> {
    if (!wire || wire.isBroken()) return
    wire.write('QUIT\r\n')
    await wire.reply('QUIT', QUIT_MS).catch(() => undefined)
    wire.close()
  }

  return {
    open,
    send,
    reset,
    quit,
    /** Closes at once. */
    close: () => wire?.close(),
    usable: () => wire !== null && !wire.isBroken() && wire.unasked() === 0,
    /** Messages begun on this connection. */
    messages: () => messages,
    /** Replies so far: none since a message began means that the server never saw it. */
    replies: () => replies,
  }
}

/** The server ended the transaction while it was being given the message. */
function early(connection: Wire, reply: SmtpReply): Outcome {
  connection.close()
  return refusalOf('body', reply)
}

/** A 4xx or 5xx is the server's word; any other code where it does not belong is a fault of the session. */
function refusalOf(phase: Phase, reply: SmtpReply): Outcome {
  if (reply.code >= 400) return rejection(phase, reply.text)
  return { kind: 'failed', phase, error: `${phase} was answered with ${reply.code}` }
}

function mailParameters({ bytes, from, to }: Envelope, capabilities: Capabilities): string {
  const size = capabilities.has('SIZE') ? ` SIZE=${bytes}` : ''
  return isAscii(from + to) ? size : `${size} SMTPUTF8`
}

const isAscii = (text: string) => !/[^\p{ASCII}]/u.test(text)

/** What no server needs to be asked about, in the words of one. */
function refusedUnsent({ from, to, bytes }: Envelope, capabilities: Capabilities): Outcome | null {
  if (/[\s<>\p{Cc}]/u.test(from)) {
    return { kind: 'failed', phase: 'mail', error: 'the return path is not an address' }
  }
  if (to === '' || /[\s<>\p{Cc}]/u.test(to)) {
    return rejection('rcpt', '553 5.1.3 the recipient is not an address')
  }
  if (!isAscii(from + to) && !capabilities.has('SMTPUTF8')) {
    return rejection('mail', '553 5.6.7 the server takes no addresses outside ASCII (SMTPUTF8)')
  }
  const sizeMax = Number(capabilities.get('SIZE') ?? 0)
  if (sizeMax > 0 && bytes > sizeMax) {
    return rejection('mail', '552 5.3.4 the message is larger than the server takes')
  }
  return null
}
