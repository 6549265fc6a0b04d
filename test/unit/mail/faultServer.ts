// A scripted SMTP server over raw sockets: it replies, closes or is silent in any phase, and records what it gets.
import { createServer, type Socket } from 'node:net'

export type Step =
  | 'banner'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'dot'
  | 'rset'
  | 'quit'

/** A reply, one with `GONE` at its end, `drop` (closes), or `hang` (sends nothing); undefined: the usual reply. */
export type Script = (step: Step, connection: number) => string | undefined

/** After this reply the server closes the connection, and answers nothing more. */
export const GONE = '\ngone'

const usual: Record<Step, string> = {
  banner: '220 fault.test ESMTP',
  ehlo: '250-fault.test\r\n250-PIPELINING\r\n250-SIZE 100000000\r\n250 8BITMIME',
  starttls: '454 4.7.0 no TLS here',
  auth: '235 2.7.0 welcome',
  mail: '250 2.1.0 ok',
  rcpt: '250 2.1.5 ok',
  data: '354 go ahead',
  body: '',
  dot: '250-2.0.0 thank you\r\n250 2.0.0 queued as 42',
  rset: '250 2.0.0 reset',
  quit: '221 2.0.0 bye',
}

export async function startFaultServer(
  script: Script = () => undefined,
  port = 0,
  host = '127.0.0.1',
) {
  const seen = {
    connections: 0,
    openMax: 0,
    commands: [] as string[],
    /** Bytes between 354 and the final dot, with dot-stuffing. */
    messages: [] as string[],
    /** Bytes of bodies without a final dot. */
    unfinished: [] as string[],
  }
  const sockets = new Set<Socket>()
  const received = { bodyBytes: 0 }
  const disconnects: ((value?: unknown) => void)[] = []
  let reading = true

  const server = createServer((socket) => {
    const connection = ++seen.connections
    // pipelined replies go out one by one: without it each waits for the client's delayed ACK
    socket.setNoDelay(true)
    sockets.add(socket)
    seen.openMax = Math.max(seen.openMax, sockets.size)
    let pending = ''
    let inData = false
    let bodyStarted = false
    let silent = false

    const answer = (step: Step) => {
      const reply = script(step, connection) ?? usual[step]
      if (reply === 'drop') socket.destroy()
      else if (reply === 'hang') silent = true
      else if (reply.endsWith(GONE)) {
        silent = true
        socket.end(`${reply.slice(0, -GONE.length)}\r\n`)
      } else if (reply !== '' && !silent) socket.write(`${reply}\r\n`)
      return reply
    }
    const command = (line: string) => {
      seen.commands.push(line)
      const verb = line.split(/[ :]/)[0]?.toLowerCase() ?? ''
      const step = (verb === 'helo' ? 'ehlo' : verb) as Step
      const reply = answer(step)
      if (step === 'data' && reply.startsWith('3')) {
        inData = true
        bodyStarted = false
        // so that an empty message ends like any other
        pending = `\r\n${pending}`
      }
      if (step === 'quit') socket.end()
    }
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      for (const tell of disconnects.splice(0)) tell()
      if (inData) seen.unfinished.push(pending.slice(2))
    })
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1')
      while (!socket.destroyed) {
        if (inData) {
          if (!bodyStarted && pending.length > 2) {
            bodyStarted = true
            answer('body')
          }
          received.bodyBytes = pending.length - 2
          if (bodyStarted && !reading) socket.pause()
          const end = pending.indexOf('\r\n.\r\n', Math.max(0, pending.length - chunk.length - 4))
          if (end < 0) return
          seen.messages.push(pending.slice(2, end + 2))
          pending = pending.slice(end + 5)
          inData = false
          answer('dot')
        } else {
          const end = pending.indexOf('\r\n')
          if (end < 0) return
          const line = pending.slice(0, end)
          pending = pending.slice(end + 2)
          command(line)
        }
      }
    })
    answer('banner')
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const address = server.address()
  return {
    seen,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    /** Body bytes of the current message. */
    received: () => received.bodyBytes,
    open: () => sockets.size,
    dropAll() {
      for (const socket of sockets) socket.destroy()
    },
    onDisconnect(tell: (value?: unknown) => void) {
      disconnects.push(tell)
    },
    /** Stops reading from the socket from the next body on. */
    stopReading() {
      reading = false
    },
    /** Closes the listening socket and every connection. */
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
