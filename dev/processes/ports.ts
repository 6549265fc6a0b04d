// Finds free loopback ports, beginning with the usual ones.
import { randomInt } from 'node:crypto'
import { connect, createServer } from 'node:net'

/** The usual port of each part, and the variable for another port. */
const parts = {
  api: { preferred: 3000, variable: 'PORT' },
  apiMetrics: { preferred: 9463, variable: 'API_METRICS_PORT' },
  workerMetrics: { preferred: 9464, variable: 'METRICS_PORT' },
  inbound: { preferred: 2525, variable: 'INBOUND_PORT' },
  submission: { preferred: 2587, variable: 'SUBMISSION_PORT' },
  temporal: { preferred: 7233, variable: undefined },
  temporalUi: { preferred: 8233, variable: undefined },
  inboxWeb: { preferred: 1080, variable: undefined },
  inboxSmtp: { preferred: 1025, variable: undefined },
  postgres: { preferred: 5433, variable: undefined },
} as const

type PortName = keyof typeof parts
export type Ports = Record<PortName, number>

/** Whether we may listen on the port: on 127.0.0.1 and on every address nobody else does, and the system allows it. */
async function stateOf(port: number): Promise<'free' | 'taken' | 'forbidden'> {
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const code = await new Promise<string | undefined>((resolve) => {
      const server = createServer()
      server.once('error', (err: NodeJS.ErrnoException) => resolve(err.code))
      server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
    })
    // Other errors do not count, because a machine may have no IPv6.
    if (code === 'EADDRINUSE') return 'taken'
    if (code === 'EACCES') return 'forbidden'
  }
  return 'free'
}

const isFree = async (port: number) => (await stateOf(port)) === 'free'

/**
 * Takes the first free port at or after `from`.
 * @param take reserves the port; false: another start is about to use it
 */
export async function nextFreePort(
  from: number,
  take: (port: number) => boolean = () => true,
): Promise<number> {
  for (let port = from; port < 65_536; port++) {
    if ((await isFree(port)) && take(port)) return port
  }
  throw new Error(`No free port at or after ${from}`)
}

/**
 * Chooses a different port for every part. A port that a variable asks for is used as it is.
 * @param take as in `nextFreePort`
 * @throws Error with one sentence if a requested port is invalid or not free
 */
export async function choosePorts(
  env: Record<string, string | undefined>,
  take: (port: number) => boolean = () => true,
): Promise<Ports> {
  const ports: Partial<Ports> = {}
  const taken = new Set<number>()
  const takeOnce = (port: number) => {
    if (taken.has(port) || !take(port)) return false
    taken.add(port)
    return true
  }
  const names = Object.keys(parts) as PortName[]
  for (const name of names) {
    const { variable } = parts[name]
    const asked = variable && env[variable]
    // 0 asks for any port.
    if (!asked || asked === '0') continue
    const port = /^\d{1,5}$/.test(asked) ? Number(asked) : 0
    const orNone = `or unset ${variable} and a free one is chosen`
    if (port < 1 || port > 65_535) {
      throw new Error(
        `${variable} is ${asked}, which is no port: give a number from 1 to 65535, ${orNone}.`,
      )
    }
    const state = await stateOf(port)
    if (state === 'forbidden') {
      throw new Error(
        `${variable} is ${port}, which only root may use: ask for one above 1023, ${orNone}.`,
      )
    }
    if (state === 'taken' || !takeOnce(port)) {
      throw new Error(
        `${variable} is ${port}, but something else uses that port: ask for another, ${orNone}.`,
      )
    }
    ports[name] = port
  }
  for (const name of names) ports[name] ??= await nextFreePort(parts[name].preferred, takeOnce)
  return ports as Ports
}

/**
 * A random free port below the range of outgoing connections, so that a server that is stopped and started again
 * finds its port free.
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
