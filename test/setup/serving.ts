// A listener on a free port for one test, without the rest of the API.
import type { AddressInfo } from 'node:net'
import { createHttpServer, type ServerRules, serverRules } from '../../api/http/server.ts'

/** Serves an application. The caller closes it. @param rules other than the service has */
export async function serve(
  fetch: Parameters<typeof createHttpServer>[0],
  rules: Partial<ServerRules> = {},
) {
  const server = createHttpServer(fetch, { rules: { ...serverRules, ...rules } })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    /** How many connections are open. */
    open: () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((err, count) => (err ? reject(err) : resolve(count))),
      ),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
