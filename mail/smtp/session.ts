// One SMTP connection, used for many messages. Every message ends with an Outcome.
import type { Phase } from '../../rules/mail/phases.ts'
import type { Envelope, Message, Outcome } from '../transport.ts'
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

/**
 * Makes a session that is not connected yet: call `open`, then `send` for one message after the other, then
 * `quit`.
 */
export function createSession(options: SessionOptions) {
  const { phaseMs } = options
  let phase: Phase = 'connect'
  let wire: Wire | null = null
  let capabilities: Capabilities = new Map()
  let messages = 0
  let replies = 0
  let recorder: Recorder | null = null
  /** The message whose commands were sent together with the dot of the one before. */
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

  /** Records the following conversation to another recorder; null: to none. */
  function recordTo(next: Recorder | null): void {
    recorder?.enter(null)
    recorder = next
    wire?.recordTo(next)
  }

  /** Connects, says EHLO, starts TLS, logs in. Returns null, or the outcome of the failure. */
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

  /**
   * Sends MAIL, RCPT and DATA, in one write if the server allows it. Returns null if the message may be written.
   */
  async function announce(connection: Wire, mail: Mail): Promise<Outcome | null> {
    const commands = commandsOf(mail.envelope, capabilities)
    const pipelined = capabilities.has('PIPELINING')
    if (announced === mail) recorder?.say(joined(commands))
    else if (pipelined) connection.writeLines(joined(commands))
    announced = null
    let refusal: Outcome | null = null
    for (const [command, line] of commands) {
      if (!pipelined) connection.writeLines(line)
      const reply = await next(connection, command).catch((err: unknown) => {
        if (!refusal) throw err
        return null
      })
      // It has refused, and gone without an answer to the rest: what it has said counts.
      if (reply === null) break
      const accepted = command === 'data' ? reply.code === 354 : reply.code < 300
      if (accepted) {
        // The server expects a message although it refused the recipient: closing the connection is the only way
        // to send none.
        if (refusal && command === 'data') connection.close()
        continue
      }
      refusal ??= refusalOf(command, reply)
      if (reply.code === 421 || reply.code < 400) connection.close()
      if (!pipelined || connection.isBroken()) break
    }
    return refusal
  }

  /** What the server said while the message was being written, which ends the transaction; null: nothing. */
  async function early(connection: Wire): Promise<Outcome | null> {
    const fault = connection.fault()
    if (connection.unasked() === 0 && fault === null) return null
    const reply = connection.unasked() > 0 ? await next(connection, 'body') : null
    connection.close()
    if (reply) return refusalOf('body', reply)
    return { kind: 'failed', phase: 'body', error: fault ?? '' }
  }

  /**
   * Sends the dot, and in the same write the commands of the next message (RFC 2920 section 3.1), which saves a
   * round trip.
   */
  function writeDot(connection: Wire, upNext: () => Mail | null): void {
    const next = capabilities.has('PIPELINING') ? upNext() : null
    announced = next && !refusedUnsent(next, capabilities) ? next : null
    const ahead = announced ? `\r\n${joined(commandsOf(announced.envelope, capabilities))}` : ''
    connection.writeLines(`.${ahead}`, '.')
  }

  /**
   * Sends one message. If the session is not `usable` afterwards, it was closed.
   * @param upNext called once, before the dot: returns the message to send next on this session, if there is one. The
   *   caller must `send` that message next, whatever the outcome of this one
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
      await writeBody(connection, message, phaseMs.body)
      const spoken = await early(connection)
      if (spoken) return spoken
      recorder?.enter(null)
      if (!(await beforeDot())) {
        connection.close()
        return { kind: 'lost_lease' }
      }
      const spokenSince = await early(connection)
      if (spokenSince) return spokenSince
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
      // A server that refused the message and closed the connection may have sent the reason.
      const reason = phase === 'body' ? await early(connection) : null
      if (reason) return reason
      if (released)
        return { kind: 'ambiguous', error: err instanceof Error ? err.message : String(err) }
      return failed(err)
    } finally {
      recordTo(null)
    }
  }

  /** Sends RSET after a refused message. If that fails, the session is closed. */
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

  /** Sends QUIT and waits a moment for the answer. */
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
    /** Messages that were started on this connection. */
    messages: () => messages,
    /** Count of replies. If it does not change during a message, the server has not seen the message. */
    replies: () => replies,
  }
}

/** Writes a message but for its final dot. A function of its own, so that nothing here keeps the bytes after it. */
async function writeBody(connection: Wire, message: Message, timeout_ms: number): Promise<void> {
  const parts = Buffer.isBuffer(message) ? dotStuffed(message) : message.parts()
  if (Array.isArray(parts)) await connection.writeAll(parts, timeout_ms)
  else await connection.writeEach(parts, timeout_ms)
  if (!Buffer.isBuffer(message)) message.written()
}

/** A 4xx or 5xx is a rejection; another unexpected code is a failure of the session. */
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
