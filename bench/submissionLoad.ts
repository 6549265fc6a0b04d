// A process that submits mail over a given number of SMTP connections, which it keeps open.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type LoadBounds, type LoadResult, runLoad } from './load.ts'
import { emailBody } from './payloads.ts'
import { serve } from './remote.ts'

interface Connection {
  /** Sends commands together, and waits for so many replies. @throws Error unless the last one is as wanted */
  say(commands: string, replies: number, wanted: string): Promise<void>
}

function overSocket(socket: Socket): Connection {
  let text = ''
  let wake = () => {}
  let ended = false
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    wake()
  })
  socket.on('close', () => {
    ended = true
    wake()
  })
  const hear = async (): Promise<string> => {
    for (;;) {
      const found = /^(?:\d{3}-[^\n]*\n)*\d{3} [^\n]*\n/.exec(text)?.[0]
      if (found !== undefined) {
        text = text.slice(found.length)
        return found
      }
      if (ended) throw new Error('the connection was closed')
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return {
    async say(commands, replies, wanted) {
      if (commands !== '') socket.write(commands)
      let last = ''
      for (let i = 0; i < replies; i++) last = await hear()
      if (!last.startsWith(wanted)) throw new Error(last)
    },
  }
}

async function open(port: number, key: string): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.setNoDelay(true)
  await once(socket, 'connect')
  const connection = overSocket(socket)
  await connection.say('', 1, '220')
  await connection.say('EHLO bench.test\r\n', 1, '250')
  const token = Buffer.from(`\0bench\0${key}`).toString('base64')
  await connection.say(`AUTH PLAIN ${token}\r\n`, 1, '235')
  return connection
}

function messageOf(serial: number): { to: string; message: string } {
  const { from, to, subject, html } = emailBody(serial)
  const header = `From: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\nMIME-Version: 1.0`
  const type = 'Content-Type: text/html; charset=utf-8'
  return { to, message: `${header}\r\n${type}\r\n\r\n${html.replaceAll('\n', '\r\n')}\r\n.\r\n` }
}

let connections: Connection[] = []

const handlers = {
  /** Submits until a bound is reached. An unexpected reply ends the run with an error. */
  async run(input: {
    port: number
    key: string
    bounds: LoadBounds
    /** Number of the first message. */
    from: number
  }): Promise<LoadResult> {
    const { port, key, bounds, from } = input
    if (connections.length === 0) {
      connections = await Promise.all(Array.from({ length: bounds.loops }, () => open(port, key)))
    }
    return runLoad(bounds, async (serial, loop) => {
      const { to, message } = messageOf(from + serial)
      const commands = `MAIL FROM:<hello@sender.test>\r\nRCPT TO:<${to}>\r\nDATA\r\n`
      await connections[loop]?.say(commands, 3, '354')
      await connections[loop]?.say(message, 1, '250')
    })
  },
}

export type SubmissionLoad = typeof handlers

serve(handlers)
