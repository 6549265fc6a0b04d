// Listens, and accepts several connections in each turn of the event loop. Node accepts one. While turns are long, a client
// would wait behind every idle connection that was opened before its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer, type Server as NetServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Connections that are accepted in one turn. */
export const ACCEPTED_AT_ONCE = 16
/** How long the copies of the listening socket are waited for at the start. */
const COPIES_WITHIN_MS = 5_000

/** Sends back what it is sent: a socket comes back as another descriptor of the same one. */
const ECHO = 'process.on("message", (n, socket) => process.send(n, socket, () => socket.close()))'

/** What Node itself keeps of a listening socket: `send` and `listen` take it. */
interface Handle {
  close(): void
}

export interface Listening {
  /** Connections that are accepted in one turn; fewer than `ACCEPTED_AT_ONCE` when the socket was not copied in time. */
  acceptedAtOnce: number
  /** Accepts nothing more. Resolves when all connections have ended. */
  close(): Promise<void>
}

/**
 * Makes the server listen.
 * @param options `backlog`: connections that the system holds until they are accepted
 * @throws the error of `listen`, such as EADDRINUSE; a later one is an `error` of the server
 */
export async function listen(
  server: Server,
  options: { port: number; host: string; backlog: number },
): Promise<Listening> {
  server.listen(options)
  await once(server, 'listening')
  const copies = await copyHandle(handleOf(server), ACCEPTED_AT_ONCE - 1)
  const servers: NetServer[] = [
    server,
    ...copies.map((handle) => acceptFor(server, handle, options.backlog)),
  ]
  return {
    acceptedAtOnce: servers.length,
    async close() {
      await Promise.all(servers.map((one) => new Promise((resolve) => one.close(resolve))))
    },
  }
}

/** What Node keeps of a server and its types do not show. */
const handleOf = (server: NetServer) => (server as unknown as { _handle: Handle })._handle

/** Accepts connections of a copy, and gives them to the server as its own. */
function acceptFor(server: Server, handle: Handle, backlog: number): NetServer {
  // The options of every HTTP server of Node.
  const acceptor = createServer({ allowHalfOpen: true, noDelay: true })
  acceptor.on('connection', (socket) => server.emit('connection', socket))
  acceptor.on('error', (err) => server.emit('error', err))
  // The backlog belongs to the socket, and so to all of its copies: the last one that says it sets it.
  return acceptor.listen(handle, backlog)
}

/**
 * Makes further descriptors of a listening socket, each of which is asked for a connection in every turn. Node copies none
 * by itself; one that is sent to another process is copied by the system, and so is one that is sent back.
 * @returns as many as came in time
 */
async function copyHandle(handle: Handle, count: number): Promise<Handle[]> {
  const copies: Handle[] = []
  const over = new AbortController()
  let echo: ChildProcess | undefined
  try {
    // Both may throw when the system gives no process or no descriptor.
    echo = spawn(process.execPath, ['-e', ECHO], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {},
    })
    const all = collect(echo, copies, count, over.signal)
    for (let n = 0; n < count; n++) echo.send(n, handle as unknown as NetServer, () => undefined)
    await Promise.race([all, delay(COPIES_WITHIN_MS, undefined, { signal: over.signal })])
  } catch {
    // The server goes on with what it has; who listens is told how many that are.
  }
  over.abort()
  if (echo?.connected) echo.disconnect()
  echo?.kill()
  return copies
}

/** Resolves when so many copies have come, or none will come any more. Those that come when it is over are closed. */
function collect(
  echo: ChildProcess,
  copies: Handle[],
  count: number,
  over: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    echo.on('message', (_, socket) => {
      const copy = socket as unknown as Handle
      if (over.aborted) copy.close()
      else if (copies.push(copy) === count) resolve()
    })
    echo.on('error', () => resolve())
    echo.on('exit', () => resolve())
  })
}
