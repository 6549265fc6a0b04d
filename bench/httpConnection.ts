// A minimal HTTP/1.1 client for load, over one connection that is kept open.
import { connect, type Socket } from 'node:net'

interface HttpAnswer {
  status: number
  /** Decoded as latin1, which is enough for ids. */
  body: string
}

export interface HttpConnection {
  /** One request at a time. */
  send(request: string | Buffer): Promise<HttpAnswer>
  /** False after either side has closed it. */
  isOpen(): boolean
  close(): void
}

/**
 * Connects to a loopback port. The client parses little, so that it takes little CPU from what is measured. It
 * understands Content-Length and chunked answers.
 */
export async function openHttp(port: number): Promise<HttpConnection> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(opened))
    opened.once('error', reject)
  })
  let pending: { resolve: (answer: HttpAnswer) => void; reject: (err: Error) => void } | undefined
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
    const answer = readAnswer(received)
    if (!answer) return
    received = ''
    const waiting = pending
    pending = undefined
    waiting?.resolve(answer)
  })
  const broken = (err?: Error) => {
    pending?.reject(err ?? new Error('the API closed a connection'))
    pending = undefined
  }
  socket.on('error', broken)
  socket.on('close', () => broken())
  return {
    send(request) {
      return new Promise((resolve, reject) => {
        pending = { resolve, reject }
        socket.write(request)
      })
    },
    isOpen: () => !socket.destroyed && socket.writable,
    close: () => socket.destroy(),
  }
}

/** Parses an answer; undefined if it is not complete yet. */
function readAnswer(text: string): HttpAnswer | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const status = Number(text.slice(9, 12))
  const headers = text.slice(0, head)
  const length = /\r\ncontent-length: *(\d+)/i.exec(headers)?.[1]
  if (length !== undefined) {
    const end = head + 4 + Number(length)
    return text.length < end ? undefined : { status, body: text.slice(head + 4, end) }
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(headers)) {
    return text.endsWith('\r\n0\r\n\r\n') ? { status, body: text.slice(head + 4) } : undefined
  }
  return { status, body: '' }
}

/** The bytes of a POST request with a JSON body, given as text or in pieces. */
export function postRequest(
  target: { path: string; key: string },
  body: string | readonly Buffer[],
): Buffer {
  const pieces = typeof body === 'string' ? [Buffer.from(body, 'utf8')] : body
  const head = [
    `POST ${target.path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${target.key}`,
    'Content-Type: application/json',
    `Content-Length: ${pieces.reduce((sum, { length }) => sum + length, 0)}`,
  ].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), ...pieces])
}

/** The text of a GET request. */
export function getRequest(target: { path: string; key: string }): string {
  return `GET ${target.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${target.key}\r\n\r\n`
}

/** Makes a function that gives so many connections to a port, which are kept open between runs, as an application does. */
export function createConnections(): (port: number, wanted: number) => Promise<HttpConnection[]> {
  let connections: HttpConnection[] = []
  return async (port, wanted) => {
    connections = connections.filter((connection) => connection.isOpen())
    while (connections.length < wanted) connections.push(await openHttp(port))
    return connections
  }
}
