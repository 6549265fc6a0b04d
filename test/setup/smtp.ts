// A real SMTP server with scripted replies, which collects the messages that it gets.
import { SMTPServer } from 'smtp-server'
import { randomPort } from '../../dev/processes/ports.ts'

export interface ReceivedMail {
  from: string
  /** Envelope recipients of this transaction. */
  to: string[]
  raw: Buffer
  at: Date
  /** The reply after the dot; `drop` if the connection was closed instead. */
  reply: string
}

/**
 * `rcpt`: answered to RCPT TO. `body`: the connection is cut before the dot, whatever `reply` says. `read`: nothing
 * is read after DATA until `hold` is settled. `dot`: answered after the dot. All wait until `hold` is settled. A reply is `code [enhanced] text`, or `drop`: the
 * connection is closed without a reply.
 */
export interface Reply {
  at: 'rcpt' | 'body' | 'read' | 'dot'
  reply: string
  hold?: Promise<unknown>
  /** Called when the dot has come, before anything waits. */
  onDot?: () => void
}

/** Called at each RCPT TO; `attempt` counts from 1 for each recipient. undefined = accept. */
export type Script = (rcpt: string, attempt: number) => Reply | undefined
/** Replies by local part. An array has one for each attempt; after its end everything is accepted. */
export type ScriptTable = Record<string, Reply | Reply[]>

export interface SmtpSink {
  port: number
  /** smtp://127.0.0.1:port */
  url: string
  /** Messages that reached the dot and were accepted, or whose connection was closed there. */
  mails: ReceivedMail[]
  /** Messages that reached the dot and were refused. */
  refused: ReceivedMail[]
  /** RCPT TO commands seen, by recipient. */
  attempts: Map<string, number>
  /** Connections opened so far, and open now. */
  connections: { total: number; open: number }
  setScript(script: Script | ScriptTable): void
  mailsTo(rcpt: string): ReceivedMail[]
  /** Closes every open connection. */
  drop(): void
  /** Closes every connection and refuses new ones. */
  stop(): Promise<void>
  /** Listens again on the same port. The collected messages stay. */
  start(): Promise<void>
}

interface Connection {
  id: string
  _socket: { destroy(): void }
}

/** Starts the server, on a random port of 127.0.0.1 unless another is given. The caller stops it. */
export async function startSmtp(
  options: {
    script?: Script | ScriptTable
    host?: string
    port?: number
    size_bytes?: number
  } = {},
): Promise<SmtpSink> {
  const { host = '127.0.0.1' } = options
  const port = options.port ?? (await randomPort())
  const mails: ReceivedMail[] = []
  const refused: ReceivedMail[] = []
  const attempts = new Map<string, number>()
  const connections = {
    total: 0,
    get open() {
      return open().length
    },
  }
  let script = toScript(options.script ?? {})
  let server: SMTPServer | undefined
  /** The scripted reply for the dot or the body of a session's current transaction. */
  const pending = new Map<string, Reply>()

  const open = () => [...((server?.connections ?? []) as Iterable<unknown>)] as Connection[]
  const cut = (id: string) => {
    for (const one of open()) if (one.id === id) one._socket.destroy()
  }

  function create(): SMTPServer {
    return new SMTPServer({
      authOptional: true,
      disabledCommands: ['AUTH', 'STARTTLS'],
      disableReverseLookup: true,
      size: options.size_bytes ?? 64 * 1024 * 1024,
      closeTimeout: 100,
      onConnect(_session, done) {
        connections.total += 1
        done()
      },
      onClose(session) {
        pending.delete(session.id)
      },
      onMailFrom(_address, session, done) {
        pending.delete(session.id)
        done()
      },
      onRcptTo({ address }, session, done) {
        const attempt = (attempts.get(address) ?? 0) + 1
        attempts.set(address, attempt)
        const reply = script(address, attempt)
        if (reply && reply.at !== 'rcpt') pending.set(session.id, reply)
        if (reply?.at !== 'rcpt') return done()
        void Promise.resolve(reply.hold).then(() => {
          if (reply.reply === 'drop') cut(session.id)
          else if (reply.reply.startsWith('2')) done()
          else done(toError(reply.reply))
        })
      },
      onData(stream, session, done) {
        const planned = pending.get(session.id)
        const chunks: Buffer[] = []
        const read = () =>
          stream.on('data', (chunk: Buffer) => {
            chunks.push(chunk)
            if (planned?.at === 'body') cut(session.id)
          })
        if (planned?.at === 'read') void planned.hold?.then(read)
        else read()
        stream.on('end', async () => {
          planned?.onDot?.()
          await planned?.hold
          const reply = planned?.reply ?? '250 2.0.0 accepted'
          const { mailFrom, rcptTo } = session.envelope
          const mail: ReceivedMail = {
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            raw: Buffer.concat(chunks),
            at: new Date(),
            reply,
          }
          const accepted = reply === 'drop' || reply.startsWith('2')
          ;(accepted ? mails : refused).push(mail)
          if (reply === 'drop') cut(session.id)
          else if (accepted) done(null, reply.replace(/^\d{3} /, ''))
          else done(toError(reply))
        })
      },
    })
  }

  async function start(): Promise<void> {
    const next = create()
    await new Promise<void>((resolve, reject) => {
      next.once('error', reject)
      next.listen(port, host, () => resolve())
    })
    // Broken connections are expected here.
    next.removeAllListeners('error')
    next.on('error', () => undefined)
    server = next
  }

  const drop = () => {
    for (const one of open()) one._socket.destroy()
  }

  await start()
  return {
    port,
    url: `smtp://${host}:${port}`,
    mails,
    refused,
    attempts,
    connections,
    setScript(next) {
      script = toScript(next)
    },
    mailsTo: (rcpt) => mails.filter((mail) => mail.to.includes(rcpt)),
    drop,
    async stop() {
      const closing = server
      if (!closing) return
      const closed = new Promise<void>((resolve) => closing.close(() => resolve()))
      drop()
      await closed
      server = undefined
    },
    start,
  }
}

function toScript(script: Script | ScriptTable): Script {
  if (typeof script === 'function') return script
  const table = new Map(Object.entries(script))
  return (rcpt, attempt) => {
    const found = table.get(rcpt.slice(0, rcpt.lastIndexOf('@')))
    return Array.isArray(found) ? found[attempt - 1] : found
  }
}

function toError(reply: string): Error {
  const error = new Error(reply.slice(4))
  return Object.assign(error, { responseCode: Number(reply.slice(0, 3)) })
}
