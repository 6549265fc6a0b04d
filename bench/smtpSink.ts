// An SMTP server that accepts and drops all mail. It is fast enough not to limit the measurement.
import { createServer, type Socket } from 'node:net'
import { serve } from './remote.ts'

const END = Buffer.from('\r\n.\r\n', 'latin1')
const EHLO =
  '250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE 67108864\r\n'

const totals = { mails: 0, bytes: 0, connections: 0 }

/** How long each reply is delayed. */
let delay_ms = 0

function onConnection(socket: Socket): void {
  totals.connections += 1
  /** Bytes of an incomplete command line, or the last bytes of a body, which may be the beginning of its end. */
  let rest: Buffer = Buffer.alloc(0)
  let inBody = false
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  socket.write('220 sink.test ESMTP\r\n')

  socket.on('data', (chunk: Buffer) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let replies = ''
    for (;;) {
      if (inBody) {
        const end = bytes.indexOf(END)
        if (end < 0) {
          // The end may be split between two chunks.
          rest = bytes.subarray(Math.max(0, bytes.length - END.length + 1))
          totals.bytes += bytes.length - rest.length
          break
        }
        totals.mails += 1
        totals.bytes += end
        inBody = false
        bytes = bytes.subarray(end + END.length)
        replies += '250 2.0.0 taken\r\n'
      }
      const line = bytes.indexOf('\r\n')
      if (line < 0) {
        rest = bytes
        break
      }
      const verb = bytes.toString('latin1', 0, Math.min(line, 4)).toUpperCase()
      bytes = bytes.subarray(line + 2)
      if (verb === 'DATA') {
        inBody = true
        replies += '354 go on\r\n'
        // An empty body has no line break before its dot, so one is added.
        bytes = Buffer.concat([Buffer.from('\r\n', 'latin1'), bytes])
      } else if (verb === 'QUIT') {
        socket.end(`${replies}221 bye\r\n`)
        return
      } else replies += verb === 'EHLO' ? EHLO : '250 2.0.0 ok\r\n'
    }
    if (replies === '') return
    if (delay_ms === 0) socket.write(replies)
    else setTimeout(() => socket.write(replies), delay_ms)
  })
}

const handlers = {
  /** Listens on a free loopback port. */
  start(input: { delay_ms?: number }): Promise<{ port: number }> {
    delay_ms = input.delay_ms ?? 0
    const server = createServer(onConnection)
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', () => {
        const address = server.address()
        resolve({ port: typeof address === 'object' && address ? address.port : 0 })
      })
    })
  },
  /** From now on each reply is delayed so long. */
  async delay(input: { delay_ms: number }): Promise<void> {
    delay_ms = input.delay_ms
  },
  async totals(_input: object): Promise<typeof totals> {
    return { ...totals }
  },
}

export type SmtpSinkProcess = typeof handlers

serve(handlers)
