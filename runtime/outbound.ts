// The HTTP client for URLs that customers choose. Against server-side request forgery (SSRF) it looks the host up once, judges
// its addresses, and connects to one that it has judged.
// Long because a request is followed from the look at its address to the end of its answer.
import { lookup as systemLookup } from 'node:dns/promises'
import {
  type Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as plainRequest,
} from 'node:http'
import { type Agent as HttpsAgent, request as tlsRequest } from 'node:https'
import { isIP } from 'node:net'
import { isHttpPort } from '../rules/httpPorts.ts'

export interface OutboundRequest {
  method: string
  /** http or https. */
  url: URL
  headers: Readonly<Record<string, string>>
  /** null: none. */
  body: string | null
  /** For everything together: the look-up, the connection and the whole answer. */
  timeout_ms: number
  /** Of the answer's body; what is longer is cut there. */
  bytesMax: number
  signal?: AbortSignal
  /**
   * Whether the status is what counts: once it is there, a body that is late, endless or broken takes nothing from the answer.
   */
  isStatusEnough?: boolean
  /** Keep connections for the next request to the same address; absent: the connection is this request's alone. */
  agents?: { http: HttpAgent; https: HttpsAgent }
}

export interface OutboundAnswer {
  status: number
  /** By name in lower case; those that came several times are joined. */
  headers: Record<string, string>
  body: Buffer
  /** Whether the body was longer than it may be. */
  isCut: boolean
}

/** Why there is no answer. `forbidden`: the port, or every address of the host, is one that must not be connected to. */
export type OutboundFault = 'forbidden' | 'unknown_host' | 'timeout' | 'connection'

/** There is no answer. The message names no address and no part of the URL. */
export class OutboundError extends Error {
  override name = 'OutboundError'
  readonly fault: OutboundFault
  constructor(fault: OutboundFault, options?: ErrorOptions) {
    super(fault, options)
    this.fault = fault
  }
}

type Lookup = (host: string) => Promise<readonly string[]>

export interface OutboundDeps {
  /** Whether an IP address may be connected to: the rule against SSRF (`isPublicAddress`, chosen by `worker/calls.ts`). */
  mayConnect(address: string): boolean
  /** Addresses of a host; that of the system unless given. */
  lookup?: Lookup
}

export type Outbound = (request: OutboundRequest) => Promise<OutboundAnswer>

const systemAddresses: Lookup = async (host) =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address)

/**
 * Makes the client. It follows no redirects, keeps no connections of its own, and knows no proxies.
 * @returns a function that gives the answer, whatever its status. It throws OutboundError, or the reason of the request's
 * own signal
 */
export function createOutbound({ mayConnect, lookup = systemAddresses }: OutboundDeps): Outbound {
  return async (request) => {
    const { signal, isLate, over } = endOf(request)
    try {
      const address = await unlessAborted(addressOf(request.url, lookup, mayConnect), signal)
      const work = exchange(request, address, signal).catch((err: unknown) => {
        if (!(err instanceof StaleConnection)) throw err
        const { agents: _, ...fresh } = request
        return exchange(fresh, address, signal)
      })
      return await unlessAborted(work, signal)
    } catch (err) {
      request.signal?.throwIfAborted()
      if (err instanceof OutboundError) throw err
      throw new OutboundError(isLate() ? 'timeout' : 'connection', { cause: err })
    } finally {
      over()
    }
  }
}

/**
 * When a request is given up: at its time, or when its own signal says so.
 * @returns `over` is called after the request, or its timer would go on
 */
function endOf({ timeout_ms, signal: own }: OutboundRequest) {
  const ending = new AbortController()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    ending.abort()
  }, timeout_ms)
  const end = () => ending.abort()
  if (own?.aborted) end()
  own?.addEventListener('abort', end)
  return {
    signal: ending.signal,
    isLate: () => isLate,
    over() {
      clearTimeout(timer)
      own?.removeEventListener('abort', end)
    },
  }
}

/** The one address that is connected to: the first of the host that may be. @throws OutboundError */
async function addressOf(
  url: URL,
  lookup: Lookup,
  mayConnect: OutboundDeps['mayConnect'],
): Promise<string> {
  const { hostname } = url
  if (!isHttpPort(url)) throw new OutboundError('forbidden')
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) ? [host] : await lookup(host).catch(unknownHost)
  if (addresses.length === 0) unknownHost()
  const address = addresses.find((one) => isIP(one) > 0 && mayConnect(one))
  if (address === undefined) throw new OutboundError('forbidden')
  return address
}

function unknownHost(cause?: unknown): never {
  throw new OutboundError('unknown_host', { cause })
}

/** Work that cannot be ended, or does not end: what it gives after the signal is not used. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** A connection that was kept has ended, as an idle one may at any moment: the request is made again on a new one. */
class StaleConnection extends Error {}

/** How long the body of an answer may take whose status is enough. */
const BODY_MS = 1_000

/** One request on a connection to that address. The name stands in Host, and in the certificate. */
function exchange(
  { url, method, headers, body, bytesMax, isStatusEnough, agents }: OutboundRequest,
  address: string,
  signal: AbortSignal,
): Promise<OutboundAnswer> {
  const isTls = url.protocol === 'https:'
  const { hostname } = url
  return new Promise((resolve, reject) => {
    const sent = (isTls ? tlsRequest : plainRequest)({
      method,
      host: address,
      port: url.port || (isTls ? 443 : 80),
      path: url.pathname + url.search,
      headers: {
        ...headers,
        host: url.host,
        ...(body === null ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      ...(isTls && isIP(hostname) === 0 && !hostname.startsWith('[')
        ? { servername: hostname }
        : {}),
      agent: agents ? agents[isTls ? 'https' : 'http'] : false,
      signal,
    })
    sent.on('error', (err) =>
      reject(sent.reusedSocket ? new StaleConnection('it had ended', { cause: err }) : err),
    )
    // An answer 101 that changes the protocol ends the connection, and is neither an answer nor an error.
    const ended = () => reject(new Error('the connection ended without an answer'))
    sent.on('close', ended)
    sent.on('response', (answer) => {
      sent.off('close', ended)
      readAnswer(answer, { bytesMax, isStatusEnough }).then(resolve, reject)
    })
    // A text would be written together with the headers, and change how their bytes are written.
    sent.end(body === null ? undefined : Buffer.from(body, 'utf8'))
  })
}

function readAnswer(
  answer: IncomingMessage,
  { bytesMax, isStatusEnough }: { bytesMax: number; isStatusEnough: boolean | undefined },
): Promise<OutboundAnswer> {
  return new Promise((resolve, reject) => {
    const collected = collectUpTo(bytesMax)
    const done = (isCut: boolean) =>
      resolve({
        status: answer.statusCode ?? 0,
        headers: joined(answer.headers),
        body: collected.body(),
        isCut,
      })
    answer.on('data', (part: Buffer) => {
      if (collected.add(part)) return
      done(true)
      answer.destroy()
    })
    answer.on('end', () => done(false))
    if (!isStatusEnough) {
      answer.on('error', reject)
      answer.on('close', () => reject(new Error('the answer ended early')))
      return
    }
    const late = setTimeout(() => answer.destroy(), BODY_MS)
    answer.on('error', () => done(true))
    answer.on('close', () => {
      clearTimeout(late)
      done(true)
    })
  })
}

/** Collects a body in one piece of memory: a server may send it in parts of a byte, each of which would weigh a hundred. */
function collectUpTo(max: number) {
  let kept = Buffer.alloc(0)
  let length = 0
  return {
    /** @returns false when it does not fit whole */
    add(part: Buffer): boolean {
      const room = Math.min(part.length, max - length)
      if (length + room > kept.length) {
        const larger = Buffer.allocUnsafe(Math.min(max, 2 * (length + room)))
        kept.copy(larger, 0, 0, length)
        kept = larger
      }
      part.copy(kept, length, 0, room)
      length += room
      return room === part.length
    },
    body: (): Buffer => kept.subarray(0, length),
  }
}

function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
  return Object.fromEntries(given)
}
