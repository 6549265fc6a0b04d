// A service that nodes call: says what came, and answers as it is told.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'

export interface CameRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

type Answer = (res: ServerResponse, came: CameRequest) => void

/** An answer of JSON. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (res) =>
    res
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))

/** Call it at the top of a file: the service listens on a port of its own until the tests are over. */
export async function createHttpServer() {
  const came: CameRequest[] = []
  const answers = new Map<string, Answer[]>()
  const server = createServer(async (req, res) => {
    let body = ''
    for await (const part of req) body += part
    const one = { method: req.method ?? '', url: req.url ?? '', headers: req.headers, body }
    came.push(one)
    const left = answers.get(pathOf(one.url)) ?? []
    const answer = left.length > 1 ? left.shift() : left[0]
    ;(answer ?? json(200, {}))(res, one)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What the requests to a path are answered, in turn; the last one for ever. */
    answer(path: string, ...given: Answer[]): void {
      answers.set(path, given)
    },
    /** The requests that came to a path. */
    came: (path: string): CameRequest[] => came.filter(({ url }) => pathOf(url) === path),
  }
}

const pathOf = (url: string): string => url.split('?')[0] ?? ''
