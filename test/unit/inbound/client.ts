// A minimal SMTP client for the inbound listener, which sends any line and reads every reply.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface InboundClient {
  socket: Socket
  /**
   * Sends a line, or bytes as they are. Returns the whole reply (lines joined by `\n`); '' if the connection is
   * closed.
   */
  say(line: string | Buffer): Promise<string>
  /** Reads the next reply without sending anything. */
  hear(): Promise<string>
  close(): void
}

/** Connects and reads the banner. */
export async function connectInbound(
  port: number,
  localAddress = '127.0.0.1',
): Promise<InboundClient & { readonly banner: string }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  await once(socket, 'connect')
  const client = overSocket(socket)
  return { ...client, banner: await client.hear() }
}

/** Like `connectSmtp`, over an open socket. */
export function overSocket(socket: Socket): InboundClient {
  let text = ''
  let ended = false
  let notify = () => {}
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    notify()
  })
  const end = () => {
    ended = true
    notify()
  }
  socket.on('error', end)
  socket.on('close', end)

  const hear = async (): Promise<string> => {
    for (;;) {
      const found = /^(?:\d{3}-[^\n]*\n)*\d{3} [^\n]*\n/.exec(text)?.[0]
      if (found !== undefined) {
        text = text.slice(found.length)
        return found.replaceAll('\r', '').trimEnd()
      }
      if (ended) return ''
      await new Promise<void>((resolve) => {
        notify = resolve
      })
    }
  }
  return {
    socket,
    hear,
    say(line) {
      socket.write(typeof line === 'string' ? `${line}\r\n` : line)
      return hear()
    },
    close: () => socket.destroy(),
  }
}

/** The bytes of a message as they are sent: CRLF, dot-stuffing, the final dot. */
export function toWire(message: string | Buffer): Buffer {
  const text = (typeof message === 'string' ? message : message.toString('latin1'))
    .replace(/\r?\n/g, '\r\n')
    .replace(/^\./gm, '..')
  return Buffer.from(`${text}${text.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1')
}

/** Sends one message. @returns the reply of each step, up to the first that is not 2xx or 3xx */
export async function sendInbound(
  port: number,
  mail: { from?: string; to: string | string[]; message: string | Buffer },
): Promise<string[]> {
  const client = await connectInbound(port)
  const replies: string[] = []
  try {
    const step = async (line: string | Buffer) => {
      const reply = await client.say(line)
      replies.push(reply)
      return /^[23]/.test(reply)
    }
    if (!(await step('EHLO mx.remote.test'))) return replies
    if (!(await step(`MAIL FROM:<${mail.from ?? ''}>`))) return replies
    for (const to of [mail.to].flat()) if (!(await step(`RCPT TO:<${to}>`))) return replies
    if (!(await step('DATA'))) return replies
    await step(toWire(mail.message))
    return replies
  } finally {
    client.close()
  }
}
