// The HTTP server of the API: how long a connection may be silent, how many there may be, and how it ends.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { expectsContinue } from './bodies/continue.ts'
import { drainUnread, endUnread, isEnding } from './bodies/drain.ts'
import type { DroppedBy } from './dropped.ts'
import { watchTaking } from './taking.ts'

/** A test chooses smaller numbers. */
export interface ServerRules {
  /** From the first byte of a request, or from the connect, to the end of its headers. */
  headers_ms: number
  /** How long a connection stays open after an answer. */
  keepAlive_ms: number
  /** What clients are told of it: less, so that none uses a connection that is just being closed. */
  keepAliveTold_s: number
  /** How often connections are looked through for those that take too long. */
  look_ms: number
  /** The longest time in which a client takes nothing of an answer that waits for it. */
  untaken_ms: number
  headersBytesMax: number
  connectionsMax: number
  /** Of one address. Addresses in `trustedPeers` may have all: they speak for many. */
  connectionsPerPeerMax: number
}

export const serverRules: ServerRules = {
  headers_ms: 10_000,
  keepAlive_ms: 75_000,
  keepAliveTold_s: 65,
  look_ms: 1_000,
  untaken_ms: 30_000,
  headersBytesMax: 16 * 1024,
  connectionsMax: 4_096,
  connectionsPerPeerMax: 2_048,
}

/** From this share of `connectionsMax` on, connections between two requests are closed. */
const CROWDED = 0.9

type Fetch = Parameters<typeof getRequestListener>[0]

/**
 * Makes the server of an application. It does not listen.
 *
 * A body has no time limit here, because its reader pauses the socket when memory is short: whoever reads it watches its
 * pace (`bodies/pace.ts`), and a body that nobody reads is drained after the answer.
 * @param isTrustedPeer whether an address is a proxy of ours
 * @param onDropped is told of each connection that is closed at once because there are too many
 */
export function createHttpServer(
  fetch: Fetch,
  {
    rules = serverRules,
    isTrustedPeer = () => false,
    onDropped = () => undefined,
  }: {
    rules?: ServerRules
    isTrustedPeer?: (address: string) => boolean
    onDropped?: (by: DroppedBy) => void
  } = {},
): Server {
  // `drainUnread` does what this option would do, with a smaller bound and for every method.
  const answer = getRequestListener(sayingEnd(fetch), { autoCleanupIncoming: false })
  const used = trackUse()
  const take = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isEnding(incoming.socket)) return
    used.begin(incoming.socket, outgoing)
    drainUnread(incoming, outgoing)
    watchTaking(outgoing, incoming.socket, rules.untaken_ms)
    outgoing.setHeader('Keep-Alive', `timeout=${rules.keepAliveTold_s}`)
    void answer(incoming, outgoing)
  }
  const server = createServer(
    {
      headersTimeout: rules.headers_ms,
      requestTimeout: 0,
      keepAliveTimeout: rules.keepAlive_ms,
      connectionsCheckingInterval: rules.look_ms,
      maxHeaderSize: rules.headersBytesMax,
    },
    take,
  )
  server.maxConnections = rules.connectionsMax
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    expectsContinue.add(incoming)
    take(incoming, outgoing)
  })
  server.on('checkExpectation', refuseExpectation)
  server.on('drop', () => onDropped('process'))
  limitPeers(server, rules, isTrustedPeer, { onDropped: () => onDropped('address'), ...used })
  return server
}

/** Calls the application; an answer that comes before the body was whole says that the connection ends. */
const sayingEnd =
  (fetch: Fetch): Fetch =>
  async (request, env) => {
    const response = await fetch(request, env)
    const { incoming, outgoing } = env as HttpBindings
    // Node calls us when it has read the head; a body that came with it is known to be whole a moment later.
    if (!incoming.complete) await nextTurn()
    endUnread(incoming, outgoing)
    return response
  }

/** Answers a request with another `Expect` than `100-continue`, which nobody here can promise. */
function refuseExpectation(incoming: IncomingMessage, outgoing: ServerResponse): void {
  drainUnread(incoming, outgoing)
  endUnread(incoming, outgoing)
  const message = 'Expect must be 100-continue, or absent'
  outgoing.writeHead(417, { 'Content-Type': 'application/json' }).end(JSON.stringify({ message }))
}

/**
 * Knows which connections are between two requests. `closeIdleConnections` of newer Node versions also closes those
 * that have only just been opened.
 */
function trackUse() {
  /** Requests under way on each connection that has had one. */
  const underWay = new Map<Socket, number>()
  return {
    begin(socket: Socket, outgoing: ServerResponse): void {
      if (!underWay.has(socket)) socket.once('close', () => underWay.delete(socket))
      underWay.set(socket, (underWay.get(socket) ?? 0) + 1)
      outgoing.once('close', () => {
        const left = underWay.get(socket)
        if (left !== undefined) underWay.set(socket, left - 1)
      })
    },
    closeIdle(): void {
      for (const [socket, count] of underWay) if (count === 0) socket.destroy()
    },
  }
}

/** Closes connections over the share of their address, and idle ones when there are nearly too many. */
function limitPeers(
  server: Server,
  rules: ServerRules,
  isTrustedPeer: (address: string) => boolean,
  { onDropped, closeIdle }: { onDropped: () => void; closeIdle: () => void },
): void {
  const open = new Map<string, number>()
  let all = 0
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress ?? ''
    const count = (open.get(peer) ?? 0) + 1
    if (count > rules.connectionsPerPeerMax && !isTrustedPeer(peer)) {
      socket.destroy()
      onDropped()
      return
    }
    all += 1
    open.set(peer, count)
    socket.once('close', () => {
      all -= 1
      const left = (open.get(peer) ?? 1) - 1
      if (left > 0) open.set(peer, left)
      else open.delete(peer)
    })
    if (all > rules.connectionsMax * CROWDED) closeIdle()
  })
}
