// One SMTP connection: opened once, used for many messages; every end of a message is an Outcome.
import type { Phase } from '../../rules/mail/phases.ts'
import type { Envelope, Outcome } from '../transport.ts'
import { dotStuffed } from './dots.ts'
import { type Capabilities, openSession, Refused, type SessionOptions } from './handshake.ts'
import { lastLine, rejection } from './outcomes.ts'
import type { Recorder } from './recorder.ts'
import type { SmtpReply } from './replies.ts'
import { WireError } from './sockets.ts'
import { type Mail, mailParameters, refusedUnsent } from './unsent.ts'
import type { Wire } from './wire.ts'

export type Session = ReturnType<typeof createSession>

const RESET_MS = 10_000
const QUIT_MS = 1_000

/** A session that is not connected yet: `open` it, `send` one message after the other, `quit`. */
export function createSession(options: SessionOptions) {
  const { phaseMs } = options
  let phase: Phase = 'connect'
  let wire: Wire | null = null
  let capabilities: Capabilities = new Map()
  let messages = 0
  let replies = 0
  let recorder: Recorder | null = null
  /** The message whose commands went out with the dot of the one before. */
  let announced: Mail | null = null

  const enter = (entered: Phase) => {
    phase = entered
    recorder?.enter(entered)
  }

  const next = async (connection: Wire, waited: Phase): Promise<SmtpReply> => {
    if (phase !== waited) enter(waited)
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

  /** Whose attempt this is from now on. */
  function recordTo(next: Recorder | null): void {
    recorder?.enter(null)
    recorder = next
    wire?.recordTo(next)
  }

  /** Connects, says EHLO, starts TLS, logs in. Null, or the outcome that every message now has. */
  async function open(observer: Recorder | null): Promise<Outcome | null> {
    recorder = observer
    try {
      const opened = await openSession(options, enter, observer)
      wire = opened.wire
      capabilities = opened.capabilities
      return null
    } catch (err) {
      return failed(err)
    } finally {
      recordTo(null)
    }
  }

  /** MAIL, RCPT and DATA, in one write where the server takes it. Null when the message may be written. */
  async function announce(connection: Wire, mail: Mail): Promise<Outcome | null> {
    const commands = commandsOf(mail.envelope, capabilities)
    const pipelined = capabilities.has('PIPELINING')
    if (announced === mail) recorder?.say(joined(commands))
    else if (pipelined) connection.writeLines(joined(commands))
    announced = null
    let refusal: Outcome | null = null
    for (const [command, line] of commands) {
      if (!pipelined) connection.writeLines(line)
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

  /** The dot, and in the same write the commands of what comes next (RFC 2920 section 3.1): a round trip less. */
  function writeDot(connection: Wire, upNext: () => Mail | null): void {
    const next = capabilities.has('PIPELINING') ? upNext() : null
    announced = next && !refusedUnsent(next, capabilities) ? next : null
    const ahead = announced ? `\r\n${joined(commandsOf(announced.envelope, capabilities))}` : ''
    connection.writeLines(`.${ahead}`, '.')
  }

  /**
   * One transaction. A session that is not `usable` afterwards has been closed.
   * @param upNext asked once, with the dot: the message that is sent on this session next, if one is known. It is
   *   to be given to `send` right after this one, whatever becomes of this one
   */
  async function send(
    mail: Mail,
    beforeDot: () => Promise<boolean>,
    upNext: () => Mail | null,
    observer: Recorder | null,
  ): Promise<Outcome> {
    const { message } = mail
    const connection = wire
    if (!connection) return { kind: 'failed', phase, error: 'the connection is not open' }
    const unsent = announced === mail ? null : refusedUnsent(mail, capabilities)
    if (unsent) return unsent
    messages += 1
    recordTo(observer)
    enter('mail')
    let released = false
    try {
      const refusal = await announce(connection, mail)
      if (refusal) return refusal
      enter('body')
      recorder?.say(`<${message.length} bytes>`)
      await connection.writeAll(dotStuffed(message), phaseMs.body)
      if (connection.unasked() > 0) return early(connection, await next(connection, 'body'))
      recorder?.enter(null)
      if (!(await beforeDot())) {
        connection.close()
        return { kind: 'lost_lease' }
      }
      if (connection.unasked() > 0) return early(connection, await next(connection, 'body'))
      if (connection.isBroken())
        return { kind: 'failed', phase: 'body', error: 'the connection was closed' }
      released = true
      enter('dot')
      writeDot(connection, upNext)
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
    } finally {
      recordTo(null)
    }
  }

  /** RSET, after a transaction that was refused. A session that does not take it is closed. */
  async function reset(): Promise<void> {
    if (!wire || wire.isBroken()) return
    try {
      wire.writeLines('RSET')
      const reply = await wire.reply('RSET', RESET_MS)
      if (reply.code >= 300) wire.close()
    } catch {
      wire.close()
    }
  }

  /** Says QUIT and waits a moment for the answer. */
  async function quit(): Promise<void> {
    if (!wire || wire.isBroken()) return
    wire.writeLines('QUIT')
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
    usable: () => wire !== null && !wire.isBroken() && (announced !== null || wire.unasked() === 0),
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

function commandsOf(envelope: Envelope, capabilities: Capabilities): [Phase, string][] {
  return [
    ['mail', `MAIL FROM:<${envelope.from}>${mailParameters(envelope, capabilities)}`],
    ['rcpt', `RCPT TO:<${envelope.to}>`],
    ['data', 'DATA'],
  ]
}

const joined = (commands: [Phase, string][]) => commands.map(([, line]) => line).join('\r\n')
