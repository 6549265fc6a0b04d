// The HTTP client for URLs that customers choose. Against server-side request forgery (SSRF) it looks the host up once, judges
// its addresses, and connects to one that it has judged.
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isHttpPort } from '../rules/httpPorts.ts'
import { connectOnce } from './outboundConnections.ts'
import {
  exchange,
  type OutboundAnswer,
  type OutboundRequest,
  StaleConnection,
} from './outboundExchange.ts'

export type { OutboundAnswer, OutboundRequest }

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
    const ending = endOf(request)
    try {
      if (!isHttpPort(request.url)) throw new OutboundError('forbidden')
      const host = request.url.hostname.replace(/^\[|\]$/g, '')
      const found = isIP(host) ? [host] : await ending.unlessOver(addresses(host, lookup))
      return await ask(request, judged(found, mayConnect), ending)
    } catch (err) {
      request.signal?.throwIfAborted()
      if (err instanceof OutboundError) throw err
      throw new OutboundError('connection', { cause: err })
    } finally {
      ending.clear()
    }
  }
}

/** The request on a connection that was kept to that address, or on a new one. */
async function ask(
  request: OutboundRequest,
  address: string,
  ending: Ending,
): Promise<OutboundAnswer> {
  const { url, connections } = request
  let connection = connections?.take(url, address) ?? connectOnce(url, address)
  for (;;) {
    try {
      return await ending.unlessOver(exchange(connection, request))
    } catch (err) {
      // A new connection is never stale, so this goes round once.
      if (!(err instanceof StaleConnection)) throw err
    } finally {
      connection.end()
    }
    connection = connectOnce(url, address)
  }
}

/** Calls one of the two when it ends; it is no promise, since a request waits for its time or for this in one promise. */
type Work<T> = (resolve: (given: T) => void, reject: (err: unknown) => void) => void

/** Looks a host up. */
const addresses =
  (host: string, lookup: Lookup): Work<readonly string[]> =>
  (resolve, reject) =>
    void lookup(host).catch(unknownHost).then(resolve, reject)

type Ending = ReturnType<typeof endOf>

/** When a request is given up: at its time, or when its own signal says so. */
function endOf({ timeout_ms, signal }: OutboundRequest) {
  let over: unknown = null
  let stop: ((reason: unknown) => void) | null = null
  const end = (reason: unknown) => {
    over ??= reason
    stop?.(over)
  }
  const timer = setTimeout(() => end(new OutboundError('timeout')), timeout_ms)
  const abort = () => end(signal?.reason)
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  return {
    /** What the work gives, unless the request is given up before: a look-up or a connection may never end. */
    unlessOver<T>(work: Work<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        stop = reject
        if (over === null) work(resolve, reject)
        else reject(over)
      })
    },
    /** Is called after the request, or its timer would go on. */
    clear() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    },
  }
}

/** The one address that is connected to: the first of the host that may be. @throws OutboundError */
function judged(addresses: readonly string[], mayConnect: OutboundDeps['mayConnect']): string {
  if (addresses.length === 0) unknownHost()
  const address = addresses.find((one) => isIP(one) > 0 && mayConnect(one))
  if (address === undefined) throw new OutboundError('forbidden')
  return address
}

function unknownHost(cause?: unknown): never {
  throw new OutboundError('unknown_host', { cause })
}
