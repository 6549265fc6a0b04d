// Connections of outbound requests. Each goes to one address that was judged; those that are kept wait a short time for the next
// request to the same host at the same address.
import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'
import { gatherWrites } from './gatheredWrites.ts'

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
  /** Is called before a request is made: it is written with others of this turn of the event loop. */
  gather(): void
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
const connectTo = (
  url: URL,
  address: string,
  { pipelining, connected }: { pipelining: 0 | 1; connected?: (socket: Socket) => void },
) =>
  new Client(url.origin, {
    connect: (options, done) =>
      connect({ ...options, hostname: address }, (...ended) => {
        if (ended[1]) connected?.(ended[1])
        done(...ended)
      }),
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
  const client = connectTo(url, address, { pipelining: 0 })
  const nothing = () => undefined
  return { client, isReused: false, gather: nothing, release: nothing, end: () => drop(client) }
}

/** A connection that is kept; it has no socket before it is connected. */
interface Kept {
  client: Client
  socket: Socket | null
}

/** @param onEnded is told when its connection has ended */
function openKept(url: URL, address: string, onEnded: (kept: Kept) => void): Kept {
  const connected = (socket: Socket) => {
    kept.socket = socket
  }
  const client = connectTo(url, address, { pipelining: 1, connected })
  client.on('disconnect', () => onEnded(kept))
  const kept: Kept = { client, socket: null }
  return kept
}

/** Makes a store of connections that are kept. */
export function keepConnections(): OutboundConnections {
  /** The latest last. */
  const idle = new Map<string, Kept[]>()
  let count = 0
  let isClosed = false

  const takeIdle = (key: string): Kept | undefined => {
    const all = idle.get(key)
    const kept = all?.pop()
    if (kept) count -= 1
    if (all?.length === 0) idle.delete(key)
    return kept
  }
  const forget = (key: string, kept: Kept) => {
    const all = idle.get(key)
    const index = all?.indexOf(kept) ?? -1
    if (!all || index < 0) return
    all.splice(index, 1)
    count -= 1
    if (all.length === 0) idle.delete(key)
    drop(kept.client)
  }
  const keep = (key: string, kept: Kept) => {
    if (isClosed || count >= IDLE_MAX) return drop(kept.client)
    const all = idle.get(key)
    if (all) all.push(kept)
    else idle.set(key, [kept])
    count += 1
  }

  return {
    take(url, address) {
      const key = `${url.origin} ${address}`
      const found = takeIdle(key)
      const kept = found ?? openKept(url, address, (ended) => forget(key, ended))
      const { client } = kept
      let isReleased = false
      return {
        client,
        isReused: found !== undefined,
        gather() {
          if (kept.socket) gatherWrites(kept.socket)
        },
        release() {
          isReleased = true
          keep(key, kept)
        },
        end() {
          if (!isReleased) drop(client)
        },
      }
    },
    close() {
      isClosed = true
      for (const { client } of [...idle.values()].flat()) drop(client)
      idle.clear()
    },
  }
}
