// The HTTP server of the API: how long a connection may be silent, how many there may be, and how it ends.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'
import { expectsContinue } from './bodies/continue.ts'
import { drainUnread, endUnread, isEnding } from './bodies/drain.ts'
import type { DroppedBy } from './dropped.ts'
import { hasSeveralHosts } from './hosts.ts'
import { watchTaking } from './taking.ts'
import { refuseAddress, refuseExpectation } from './unseen.ts'

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
  /** The longest time in which a client takes nothing while an answer waits for it. */
  untaken_ms: number
  /** Requests under way on one connection. Their answers wait for each other, and each is kept until its turn. */
  requestsPerConnectionMax: number
  headersBytesMax: number
  connectionsMax: number
  /** Of one client: an IPv4 address, or a /64 of IPv6. Addresses in `trustedPeers` may have all: they speak for many. */
  connectionsPerClientMax: number
}

export const serverRules: ServerRules = {
  headers_ms: 10_000,
  keepAlive_ms: 75_000,
  keepAliveTold_s: 65,
  look_ms: 1_000,
  // The system tells only of large steps: of some megabytes for a connection, which take a slow client a minute or more.
  untaken_ms: 150_000,
  requestsPerConnectionMax: 8,
  headersBytesMax: 16 * 1024,
  connectionsMax: 4_096,
  connectionsPerClientMax: 2_048,
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
  const answer = getRequestListener(sayingEnd(fetch), {
    // `drainUnread` does what this option would do, with a smaller bound and for every method.
    autoCleanupIncoming: false,
    // HTTP/1.0 needs no Host, and load balancers ask for health that way. Nothing here depends on the name.
    hostname: 'localhost',
    errorHandler: answerThrown,
  })
  const used = trackUse()
  const take = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    if (isEnding(socket) || socket.destroyed) return
    if (used.count(socket) >= rules.requestsPerConnectionMax) {
      socket.destroy()
      onDropped('requests')
      return
    }
    used.begin(socket, outgoing)
    drainUnread(incoming, outgoing)
    outgoing.setHeader('Keep-Alive', `timeout=${rules.keepAliveTold_s}`)
    if (hasSeveralHosts(incoming.rawHeaders)) {
      refuseAddress(incoming, outgoing, 'The request has more than one header Host')
      return
    }
    answer(incoming, outgoing).catch((err) => {
      if (err instanceof RequestError) refuseAddress(incoming, outgoing)
      else outgoing.destroy()
    })
  }
  const server = createServerOf(rules, take)
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    expectsContinue.add(incoming)
    take(incoming, outgoing)
  })
  server.on('checkExpectation', refuseExpectation)
  server.on('connection', (socket: Socket) => watchTaking(socket, rules.untaken_ms))
  limitConnections(server, rules, isTrustedPeer, { onDropped, ...used })
  return server
}

/** Makes a server of Node. */
function createServerOf(
  rules: ServerRules,
  take: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Server {
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
  // No limit: Node would drop the headers behind the first thousand or so without a word, a second Host too. `headersBytesMax` bounds them.
  server.maxHeadersCount = 0
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

/**
 * A 500 without a word of what the application has thrown.
 * @throws RequestError where path and `Host` make no address: `take` has the request, and answers it
 */
function answerThrown(err: unknown): Response {
  if (err instanceof RequestError) throw err
  return new Response(null, { status: 500 })
}

/**
 * Knows the requests under way on each connection, and so which connections are between two. `closeIdleConnections` of newer
 * Node versions also closes those that have only just been opened.
 */
function trackUse() {
  /** Of each connection that has had a request: the answers that are not through. */
  const underWay = new Map<Socket, Set<ServerResponse>>()
  const onClose = (socket: Socket) => {
    const left = underWay.get(socket) ?? []
    underWay.delete(socket)
    // Node before 24 tells only the answer whose turn it is that its connection has ended; the others never hear of it.
    setImmediate(() => {
      for (const outgoing of left) {
        outgoing.destroy()
        outgoing.emit('close')
      }
    })
  }
  return {
    count: (socket: Socket): number => underWay.get(socket)?.size ?? 0,
    begin(socket: Socket, outgoing: ServerResponse): void {
      const answers = underWay.get(socket) ?? new Set()
      if (!underWay.has(socket)) {
        underWay.set(socket, answers)
        socket.once('close', () => onClose(socket))
      }
      answers.add(outgoing)
      outgoing.once('close', () => answers.delete(outgoing))
    },
    closeIdle(): void {
      for (const [socket, answers] of underWay) if (answers.size === 0) socket.destroy()
    },
  }
}

/** Closes connections that are too many, for all or of their client, and idle ones when there are nearly too many. */
function limitConnections(
  server: Server,
  rules: ServerRules,
  isTrustedPeer: (address: string) => boolean,
  { onDropped, closeIdle }: { onDropped: (by: DroppedBy) => void; closeIdle: () => void },
): void {
  const open = new Map<string, number>()
  let all = 0
  server.on('connection', (socket: Socket) => {
    if (all >= rules.connectionsMax) {
      socket.destroy()
      onDropped('process')
      return
    }
    const peer = socket.remoteAddress ?? ''
    const client = clientNetwork(peer)
    const count = (open.get(client) ?? 0) + 1
    if (count > rules.connectionsPerClientMax && !isTrustedPeer(peer)) {
      socket.destroy()
      onDropped('address')
      return
    }
    all += 1
    open.set(client, count)
    socket.once('close', () => {
      all -= 1
      const left = (open.get(client) ?? 1) - 1
      if (left > 0) open.set(client, left)
      else open.delete(client)
    })
    if (all > rules.connectionsMax * CROWDED) closeIdle()
  })
}
