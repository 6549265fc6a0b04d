// Connections of outbound requests. Each goes to one address that was judged; those that are kept wait a short time for the next
// request to the same host at the same address.
import { buildConnector, Client } from 'undici'

/** How long a connection is kept for the next request. Servers close idle ones after some seconds. */
const IDLE_MS = 2_000
/** Idle ones in all. */
const IDLE_MAX = 256
/** How long connecting may take, TLS included; a request may be given up earlier. */
const CONNECT_MS = 10_000

export interface OutboundConnection {
  client: Client
  /** Whether an earlier request was answered on it, so that it may have ended meanwhile. */
  isReused: boolean
  /** Says that its answer has come whole: it may be kept. */
  release(): void
  /** Ends it, unless it was released. */
  end(): void
}

export interface OutboundConnections {
  /** @param address of the host of the URL */
  take(url: URL, address: string): OutboundConnection
  /** Ends those that are idle, and keeps none any more. */
  close(): void
}

const connect = buildConnector({ timeout: CONNECT_MS })

/** The name of the URL stands in Host and in the certificate; the address alone is connected to. */
const connectTo = (url: URL, address: string, pipelining: 0 | 1) =>
  new Client(url.origin, {
    connect: (options, done) => connect({ ...options, hostname: address }, done),
    // 0: the connection ends with its first answer.
    pipelining,
    // A request has one time for everything, which whoever makes it looks after.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
  })

const drop = (client: Client) => void client.destroy()

/** A connection for one request. */
export function connectOnce(url: URL, address: string): OutboundConnection {
  const client = connectTo(url, address, 0)
  return { client, isReused: false, release: () => undefined, end: () => drop(client) }
}

/** Makes a store of connections that are kept. */
export function keepConnections(): OutboundConnections {
  /** The latest last. */
  const idle = new Map<string, Client[]>()
  let count = 0
  let isClosed = false

  const takeIdle = (key: string): Client | undefined => {
    const clients = idle.get(key)
    const client = clients?.pop()
    if (client) count -= 1
    if (clients?.length === 0) idle.delete(key)
    return client
  }
  const forget = (key: string, client: Client) => {
    const clients = idle.get(key)
    const index = clients?.indexOf(client) ?? -1
    if (!clients || index < 0) return
    clients.splice(index, 1)
    count -= 1
    if (clients.length === 0) idle.delete(key)
    drop(client)
  }
  const keep = (key: string, client: Client) => {
    if (isClosed || count >= IDLE_MAX) return drop(client)
    const clients = idle.get(key)
    if (clients) clients.push(client)
    else idle.set(key, [client])
    count += 1
  }
  const open = (key: string, url: URL, address: string): Client => {
    const client = connectTo(url, address, 1)
    client.on('disconnect', () => forget(key, client))
    return client
  }

  return {
    take(url, address) {
      const key = `${url.origin} ${address}`
      const found = takeIdle(key)
      const client = found ?? open(key, url, address)
      let isReleased = false
      return {
        client,
        isReused: found !== undefined,
        release() {
          isReleased = true
          keep(key, client)
        },
        end() {
          if (!isReleased) drop(client)
        },
      }
    },
    close() {
      isClosed = true
      for (const client of [...idle.values()].flat()) drop(client)
      idle.clear()
    },
  }
}
