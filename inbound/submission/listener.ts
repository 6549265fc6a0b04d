// The SMTP listener for mail that customers submit: whoever shows an API key sends as over HTTP.
import { isIPv4, type Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { limits } from '../../rules/limits.ts'
import type { Config } from '../../runtime/config.ts'
import { openPort, StartError } from '../../runtime/startFaults.ts'
import { openCertificate } from '../certificate.ts'
import { createInHand } from '../inHand.ts'
import { listenAt } from '../listen.ts'
import { createGuard, type GuardTimes } from './guard.ts'
import { createHandlers, type HandlerDeps, LOG_IN_FIRST } from './handlers.ts'
import { stopping } from './replies.ts'

const COMMAND_LINE_CHARS_MAX = 4_096
export const listenerRules = {
  connectionsMax: 1_000,
  /** RFC 5321 section 4.5.3.2.7. */
  silence_ms: 5 * 60_000,
}
/** At a stop, how long open sessions may go on once their messages are answered. */
const CLOSE_MS = 3_000
/** By then it is known what became of a commit that was given up (`HANG_UP_MS` of db/lend.ts, and a moment). */
const UNDO_MS = 6_000
const NEVER = ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'VRFY', 'EXPN']

interface SubmissionDeps extends HandlerDeps {
  listen: NonNullable<Config['submission']>
  /** The name that the listener says. */
  name: string
  /** Says how many connections are open. */
  watch: (connections: () => number) => void
  /** At a stop, how long it waits for messages that are being committed. */
  drain_ms: number
  times?: GuardTimes
}

/**
 * Starts the listener, and a second one with TLS from the first byte where a port for it is set. `stop` refuses new
 * connections and messages, waits up to `drain_ms` for those that are being committed, and gives open sessions `CLOSE_MS` to end.
 * @throws StartError when a port is taken, or there is a port for TLS and no certificate
 */
export async function startSubmission(
  deps: SubmissionDeps,
): Promise<{ port: number; tlsPort: number | null; stop: () => Promise<void> }> {
  const { listen, log } = deps
  const certificate = openSubmissionCertificate(listen, log)
  const guard = createGuard(deps.times)
  deps.watch(guard.connections)
  const servers: SMTPServer[] = []
  // A new one is given once, and both ports offer it.
  const renew = () => {
    const renewed = certificate?.renewed()
    if (renewed) for (const server of servers) server.updateSecureContext(renewed)
  }
  const inHand = createInHand(stopping())
  const answerAll = () => inHand.stop(deps.drain_ms, UNDO_MS)
  const handlers = createHandlers(deps, guard, inHand)
  const shared = { certificate, servers, renew, guard, handlers, answerAll }
  const first = await open(deps, listen.port, { ...shared, secure: false })
  const second =
    listen.tlsPort === null ? null : await open(deps, listen.tlsPort, { ...shared, secure: true })
  return {
    port: first.port,
    tlsPort: second?.port ?? null,
    stop: async () => void (await Promise.all([first.stop(), second?.stop()])),
  }
}

/** @throws StartError also when there is a port for TLS and no certificate */
export function openSubmissionCertificate(
  listen: Pick<SubmissionDeps['listen'], 'tlsPort' | 'tlsCert' | 'tlsKey'>,
  log: Parameters<typeof openCertificate>[1],
): ReturnType<typeof openCertificate> {
  const certificate = openCertificate(listen, log, 'SUBMISSION')
  if (listen.tlsPort !== null && !certificate) {
    throw new StartError(
      'SUBMISSION_TLS_PORT is set without a certificate.',
      'Set SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY too, or unset SUBMISSION_TLS_PORT.',
    )
  }
  return certificate
}

interface Opening {
  certificate: ReturnType<typeof openCertificate>
  /** Those of both ports, which each joins. */
  servers: SMTPServer[]
  /** Gives them the certificate that the files have now. */
  renew: () => void
  guard: ReturnType<typeof createGuard>
  handlers: ReturnType<typeof createHandlers>
  /** Answers the messages of both ports that are being taken. */
  answerAll: () => Promise<void>
  /** TLS from the first byte. */
  secure: boolean
}

async function open(
  { listen, name, log }: SubmissionDeps,
  port: number,
  { certificate, servers, renew, guard, handlers, answerAll, secure }: Opening,
) {
  const inClear = certificate ? NEVER : [...NEVER, 'STARTTLS']
  const server: SMTPServer = new SMTPServer({
    ...certificate?.first,
    ...handlers,
    secure,
    name,
    heloResponse: '%s',
    size: limits.submissionBytesMax,
    rejectOversized: true,
    maxClients: listenerRules.connectionsMax,
    maxCommandLength: COMMAND_LINE_CHARS_MAX,
    socketTimeout: listenerRules.silence_ms,
    closeTimeout: CLOSE_MS,
    authMethods: ['PLAIN', 'LOGIN'],
    authRequiredMessage: `5.7.0 ${LOG_IN_FIRST}`,
    // Where AUTH must not come before TLS it is not there before TLS, see `onConnect`.
    allowInsecureAuth: true,
    disableReverseLookup: true,
    disabledCommands: inClear,
    logger: false,
    onConnect(session, done) {
      const mayLogIn = secure || isLoopback(session.remoteAddress)
      session.disabledCommands = mayLogIn ? inClear : [...inClear, 'AUTH']
      done(guard.onConnect(session))
    },
    onSecure(socket, session, done) {
      session.disabledCommands = NEVER
      guard.onSecure(session, socket)
      done()
    },
  })
  servers.push(server)
  takeConnections(server, (socket) => {
    // Before the handshake, which the library begins at once on the port for TLS.
    renew()
    return guard.onSocket(socket, secure ? () => endHandshake(server, socket) : null)
  })
  const what = 'a connection of a mail client broke'
  const at = { host: listen.host, port }
  const variables = {
    host: 'SUBMISSION_HOST or HOST',
    port: secure ? 'SUBMISSION_TLS_PORT' : 'SUBMISSION_PORT',
  }
  return openPort(variables, at, () => listenAt(server, at, { log, what, answerAll }))
}

/** Has the library take a connection only where it may: on the port for TLS it knows no limit for one client. */
function takeConnections({ server }: SMTPServer, mayTake: (socket: Socket) => boolean): void {
  const takers = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (mayTake(socket)) for (const take of takers) take.call(server, socket)
  })
}

/**
 * Ends the socket of TLS, which the library keeps by the one below it and its types do not show. That one must not be ended by itself: Node
 * would crash in the middle of the handshake.
 */
function endHandshake(server: SMTPServer, below: Socket): void {
  const { _pendingSockets: upper } = server as unknown as { _pendingSockets?: Map<Socket, Socket> }
  upper?.get(below)?.destroy()
}

/** Whether a client is on this machine, where nobody listens in between. */
function isLoopback(address: string): boolean {
  const bare = address.replace(/^::ffff:/, '')
  return bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'))
}
