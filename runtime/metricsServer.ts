// An HTTP server on a separate port: metrics for Prometheus, health and readiness of the process.
import { createServer } from 'node:http'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { collectEventLoopDelay } from './eventLoopDelay.ts'
import { openPort } from './startFaults.ts'

/** Makes a registry with the metrics of every process, each with the label `process`. */
export function createMetrics(processName: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ process: processName })
  collectDefaultMetrics({ register: registry })
  collectEventLoopDelay(registry)
  return registry
}

/**
 * Serves `/metrics`, `/healthz` and `/readyz`. Resolves when it listens.
 * @param options `variable`: the name of the one that says the port
 * @throws StartError when the system refuses it
 */
export async function serveMetrics(
  options: { host: string; port: number; variable: string; isReady: () => Promise<boolean> },
  registry: Registry,
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer(async (request, response) => {
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type }).end(body)
    try {
      if (request.url === '/metrics') send(200, registry.contentType, await registry.metrics())
      else if (request.url === '/healthz') send(200, 'application/json', '{"status":"ok"}')
      else if (request.url === '/readyz') {
        const ready = await options.isReady()
        send(ready ? 200 : 503, 'application/json', `{"status":"${ready ? 'ok' : 'unavailable'}"}`)
      } else send(404, 'application/json', '{"message":"Not found"}')
    } catch {
      if (!response.headersSent) send(500, 'application/json', '{"message":"failed"}')
    }
  })
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options.port, options.host, resolve)
    })
  await openPort({ host: 'HOST', port: options.variable }, options, listen)
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
