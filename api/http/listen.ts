// Listens, and accepts many connections in each turn of the event loop. Node accepts one in a turn, so under load whoever
// connects would stand behind every socket that somebody opens to say nothing.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer, type Server as NetServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Connections that are accepted in one turn. */
const ACCEPTED_AT_ONCE = 16
/** How long the copies of the listening socket are waited for at the start. */
const COPIES_WITHIN_MS = 5_000

/** Sends back what it is sent: a socket comes back as another descriptor of the same one. */
const ECHO = 'process.on("message", (n, socket) => process.send(n, socket, () => socket.close()))'

/** A socket of Node's own, as `send` takes it and `listen` too. */
type Handle = NetServer

export interface Listening {
  /** Accepts nothing more. Resolves when all connections have ended. */
  close(): Promise<void>
}

/**
 * Makes the server listen.
 * @param options `backlog`: connections that the system holds until they are accepted
 * @throws the error of `listen`, such as EADDRINUSE
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
  const echo = spawn(process.execPath, ['-e', ECHO], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
  })
  const late = new AbortController()
  const all = new Promise<void>((resolve) => {
    echo.on('message', (_, copy) => {
      if (late.signal.aborted) (copy as Handle).close()
      else if (copies.push(copy as Handle) === count) resolve()
    })
    echo.on('error', () => resolve())
    echo.on('exit', () => resolve())
  })
  for (let n = 0; n < count; n++) echo.send(n, handle, () => undefined)
  await Promise.race([all, delay(COPIES_WITHIN_MS, undefined, { signal: late.signal })]).catch(
    () => undefined,
  )
  late.abort()
  end(echo)
  return copies
}

function end(child: ChildProcess): void {
  if (child.connected) child.disconnect()
  child.kill()
}
