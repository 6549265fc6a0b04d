// A port that a server of the test has taken.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { randomPort } from '../../dev/processes/ports.ts'

/** Takes a port of 127.0.0.1 until `close`. */
export async function takePort(): Promise<{ port: number; close: () => void }> {
  const port = await randomPort()
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { port, close: () => void server.close() }
}
