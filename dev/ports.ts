// Finds free loopback ports, beginning with the ones that people expect.
import { randomInt } from 'node:crypto'
import { connect, createServer } from 'node:net'

/** Where each part listens when nobody else does. */
export const preferredPorts = {
  api: 3000,
  temporal: 7233,
  temporalUi: 8233,
  inboxWeb: 1080,
  inboxSmtp: 1025,
  postgres: 5433,
  metrics: 9464,
} as const

export type PortName = keyof typeof preferredPorts
export type Ports = Record<PortName, number>

/** True when nothing listens on the port, on 127.0.0.1 and on every address. */
export async function isFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer()
      // Only a taken port counts: a machine may well have no IPv6.
      server.once('error', (err: NodeJS.ErrnoException) =>
        resolve(err.code !== 'EADDRINUSE' && err.code !== 'EACCES'),
      )
      server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
    })
    if (!free) return false
  }
  return true
}

/** The first free port at or after `from` that is not among `taken`. */
export async function nextFreePort(from: number, taken: Iterable<number> = []): Promise<number> {
  const skip = new Set(taken)
  for (let port = from; port < 65_536; port++) {
    if (!skip.has(port) && (await isFree(port))) return port
  }
  throw new Error(`No free port at or after ${from}`)
}

/** One free port for every part, all different. `wanted` replaces a preferred one. */
export async function choosePorts(wanted: Partial<Ports> = {}): Promise<Ports> {
  const ports: Ports = { ...preferredPorts, ...wanted }
  const taken: number[] = []
  for (const name of Object.keys(preferredPorts) as PortName[]) {
    ports[name] = await nextFreePort(ports[name], taken)
    taken.push(ports[name])
  }
  return ports
}

/**
 * A random free port below the range that the system gives to outgoing connections: a server that is
 * stopped and started again finds its port free.
 */
export async function randomPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(12_000, 32_000)
    if (await isFree(port)) return port
  }
  throw new Error('No free port between 12000 and 32000')
}

/** True when something on this machine accepts connections at the port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
