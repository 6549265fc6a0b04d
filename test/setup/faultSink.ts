// An SMTP server over raw sockets with faults that recipients select. It keeps every byte that it accepted.
import { createServer, type Socket } from 'node:net'
import { type Answer, answerAt, type Fault, planOf, type Step } from './faultPlans.ts'

interface SunkMail {
  from: string
  to: string
  /** The message without dot-stuffing. */
  bytes: Buffer
  connection: number
}

export interface FaultSinkOptions {
  port?: number
  host?: string
  pipelining?: boolean
  smtputf8?: boolean
  /** `garbage`: replies 220 to STARTTLS, and then sends something that is not TLS. */
  starttls?: 'garbage' | 'refused'
  /** Replies 354 even if no recipient was accepted. */
  dataAlways?: boolean
  /** Closes a connection after so many messages. */
  closeAfter?: number
  /** Faults before a recipient is known. */
  opening?: (connection: number) => { step: Step; fault: Fault } | undefined
  /** Fault of a recipient that selects none; `attempt` counts from 1 for each recipient. */
  plan?: (to: string, attempt: number) => { step: Step; fault: Fault } | undefined
}

export type FaultSink = Awaited<ReturnType<typeof startFaultSink>>

const SLOW_MS = 30

export async function startFaultSink(options: FaultSinkOptions = {}) {
  const seen = {
    accepted: [] as SunkMail[],
    /** Recipients whose final dot arrived, with any result. */
    dots: [] as string[],
    /** RCPT TO commands, by recipient. */
    attempts: new Map<string, number>(),
    connections: 0,
    /** Lines that are not a command of a mail client. Content that escapes from a message would appear here. */
    strange: [] as string[],
  }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    seen.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, seen.connections)
  })

  function serve(socket: Socket, connection: number): void {
    let pending = ''
    let inData = false
    let bodyBegun = false
    let silent = false
    let from = ''
    let to: string | null = null
    let messages = 0
    let current: { step: Step; fault: Fault } | undefined
    let writing = Promise.resolve()
    const opening = options.opening?.(connection)

    const faultAt = (step: Step): Fault | undefined => {
      if (opening?.step === step) return opening.fault
      return current?.step === step ? current.fault : undefined
    }
    const say = (step: Step, ok = ''): void => {
      const answer = answerAt(step, ok, faultAt(step))
      if (answer.end === 'hang') silent = true
      writing = writing.then(() => write(answer))
    }
    const write = async ({ text, pace, end }: Answer) => {
      // A reset while the socket ends fails with EINVAL, and Node then reports no close.
      if (socket.writableEnded) return
      if (pace === 'slow') await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
      for (const part of pace === 'bytes' ? text : [text]) {
        if (part === '' || socket.destroyed) continue
        socket.write(part)
        if (pace === 'bytes') await new Promise((resolve) => setImmediate(resolve))
      }
      if (end === 'drop') socket.end(() => socket.destroy())
      if (end === 'rst') socket.resetAndDestroy()
    }

    const startMail = (line: string) => {
      from = /<([^>]*)>/.exec(line)?.[1] ?? ''
      to = null
      current = undefined
      say('mail')
    }
    const takeRecipient = (line: string) => {
      const address = Buffer.from(/<([^>]*)>/.exec(line)?.[1] ?? '', 'latin1').toString('utf8')
      const attempt = (seen.attempts.get(address) ?? 0) + 1
      seen.attempts.set(address, attempt)
      const asked = planOf(address)
      current = asked && attempt <= asked.times ? asked : options.plan?.(address, attempt)
      if (!isRefusal(faultAt('rcpt')) && !isRefusal(faultAt('mail'))) to = address
      say('rcpt')
    }
    const startData = () => {
      const refused = to === null && !options.dataAlways
      say('data', refused ? '503 5.5.1 no recipient' : '')
      if (refused || isRefusal(faultAt('data'))) return
      inData = true
      bodyBegun = false
      // so that an empty message ends like any other
      pending = `\r\n${pending}`
    }
    const endMail = (body: string) => {
      messages += 1
      if (to !== null) {
        seen.dots.push(to)
        const bytes = Buffer.from(body.replace(/(^|\r\n)\./g, '$1'), 'latin1')
        if (!isRefusal(faultAt('body')) && !isRefusal(faultAt('dot')))
          seen.accepted.push({ from, to, bytes, connection })
      }
      say('dot', to === null ? '554 5.5.1 no recipient' : '')
      if (messages >= (options.closeAfter ?? Number.POSITIVE_INFINITY)) {
        after(() => socket.end())
      }
    }

    const after = (act: () => void) => {
      writing = writing.then(act)
    }
    const greet = () => say('ehlo', greeting(options))
    const commands: Record<string, (line: string) => void> = {
      EHLO: greet,
      HELO: greet,
      STARTTLS: () =>
        say('starttls', options.starttls === 'garbage' ? '220 go ahead\r\n220 no TLS' : ''),
      MAIL: startMail,
      RCPT: takeRecipient,
      DATA: startData,
      RSET() {
        to = null
        say('rset')
      },
      QUIT: () => after(() => socket.end('221 2.0.0 bye\r\n')),
    }
    const command = (line: string): void => {
      const run = commands[line.split(/[ :]/)[0] ?? '']
      if (run) run(line)
      else {
        seen.strange.push(line)
        after(() => socket.write('500 5.5.2 what?\r\n'))
      }
    }

    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1')
      while (!socket.destroyed && !silent) {
        if (!inData) {
          const end = pending.indexOf('\r\n')
          if (end < 0) return
          const line = pending.slice(0, end)
          pending = pending.slice(end + 2)
          command(line)
          continue
        }
        if (!bodyBegun && pending.length > 2) {
          bodyBegun = true
          say('body')
          if (silent) return
          const broken = faultAt('body')
          // nothing is read after a body was cut off
          if (broken === 'drop' || broken === 'rst') {
            inData = false
            silent = true
            return
          }
        }
        const end = pending.indexOf('\r\n.\r\n')
        if (end < 0) return
        const body = pending.slice(2, end + 2)
        pending = pending.slice(end + 5)
        inData = false
        endMail(body)
      }
    })
    say('banner')
  }

  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', () => resolve())
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    seen,
    /** Connections open now. */
    open: () => sockets.size,
    acceptedFor: (to: string) => seen.accepted.filter((mail) => mail.to === to),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const isRefusal = (fault: Fault | undefined) =>
  fault !== undefined && ['4xx', '5xx', '421', 'drop', 'rst', 'hang', 'junk'].includes(fault)

function greeting({ pipelining = true, smtputf8 = true, starttls }: FaultSinkOptions): string {
  const offers = ['8BITMIME', 'SIZE 100000000']
  if (pipelining) offers.push('PIPELINING')
  if (smtputf8) offers.push('SMTPUTF8')
  if (starttls) offers.push('STARTTLS')
  return ['fault.test', ...offers]
    .map((text, i) => `250${i === offers.length ? ' ' : '-'}${text}`)
    .join('\r\n')
}
