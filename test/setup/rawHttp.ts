// Requests written byte by byte to a socket, which says what came back and when it was closed.
import { connect, type Socket } from 'node:net'
import { eventually } from './eventually.ts'

export interface RawConnection {
  socket: Socket
  /** What came so far, as latin1. */
  received(): string
  /** The statuses of the answers so far. */
  statuses(): number[]
  isClosed(): boolean
  /** Writes the bytes; resolves when they were handed over, or the connection is closed. */
  write(bytes: string | Uint8Array): Promise<void>
  /** Waits for the number of answers. */
  answers(count?: number): Promise<string>
  closed(): Promise<void>
}

/** The head of a POST of JSON. `headers` stand beside the usual ones. */
export const head = (path: string, key: string, headers: Record<string, string | number>): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: api.test',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')

/** Connects to a port of this machine. */
export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  let received = ''
  let closed = false
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
  })
  // A connection that the server cut is what some tests wait for.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    closed = true
  })
  const statuses = () =>
    [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return {
    socket,
    received: () => received,
    statuses,
    isClosed: () => closed,
    write: (bytes) =>
      new Promise((resolve) => {
        if (closed) resolve()
        else {
          socket.once('close', () => resolve())
          socket.write(bytes, () => resolve())
        }
      }),
    async answers(count = 1) {
      await eventually(() => {
        if (statuses().length < count) throw new Error(`${statuses().length} answers: ${received}`)
      })
      return received
    },
    closed: () =>
      eventually(() => {
        if (!closed) throw new Error(`still open, received: ${received.slice(0, 300)}`)
      }),
  }
}

/** What came after the head of the last answer. */
export const told = (connection: RawConnection) => {
  const [, text = ''] = connection.received().split('\r\n\r\n').slice(-2)
  return { status: connection.statuses().at(-1), code: JSON.parse(text).code as string }
}
