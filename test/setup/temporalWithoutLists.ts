// A way to Temporal on which lists of workflow functions answer that visibility is away; all other calls go through.
import { once } from 'node:events'
import {
  connect,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

const UNAVAILABLE = { 'grpc-status': '14', 'grpc-message': 'visibility is away' }

/** Starts it; it ends with the test. `refused` counts lists; `mend` makes them go through too. */
export async function startWithoutLists(temporalAddress: string) {
  const upstream = connect(`http://${temporalAddress}`)
  const sessions = new Set<Http2Session>()
  let isMended = false
  let refused = 0

  function pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const asked = upstream.request(headers)
    let trailers: IncomingHttpHeaders = {}
    asked.on('trailers', (given) => {
      trailers = given
    })
    asked.on('response', (given) => {
      if (stream.closed) return
      stream.respond(given, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(trailers))
      asked.pipe(stream)
    })
    asked.on('error', () => stream.close())
    stream.on('error', () => asked.close())
    stream.on('close', () => asked.close())
    stream.pipe(asked)
  }

  const server = createServer()
  server.on('session', (session) => sessions.add(session))
  server.on('stream', (stream, headers) => {
    const isList = headers[':path']?.endsWith('/ListWorkflowExecutions') ?? false
    if (isMended || !isList) return pass(stream, headers)
    refused += 1
    const answer = { ':status': 200, 'content-type': 'application/grpc', ...UNAVAILABLE }
    stream.respond(answer, { endStream: true })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const session of sessions) session.destroy()
    upstream.destroy()
  })
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    mend() {
      isMended = true
    },
  }
}
