// One request of the client for URLs that customers choose, from its first byte to the end of its answer.
import type { Dispatcher } from 'undici'
import type { OutboundConnection, OutboundConnections } from './outboundConnections.ts'

export interface OutboundRequest {
  method: string
  /** http or https. */
  url: URL
  headers: Readonly<Record<string, string>>
  /** null: none. */
  body: string | Buffer | null
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
  connections?: OutboundConnections
}

export interface OutboundAnswer {
  status: number
  /** By name in lower case; those that came several times are joined. */
  headers: Record<string, string>
  body: Buffer
  /** Whether the body was longer than it may be. */
  isCut: boolean
}

/** A connection that was kept has ended, as an idle one may at any moment: the request is made again on a new one. */
export class StaleConnection extends Error {
  override name = 'StaleConnection'
}

/** How long the body of an answer may take whose status is enough. */
const BODY_MS = 1_000

/**
 * Makes the request. The connection is released when the answer has come whole; else whoever has it ends it.
 * @returns a function that begins, and calls one of the two; `reject` with StaleConnection, or why there is no answer
 */
export const exchange =
  (
    connection: OutboundConnection,
    { url, method, headers, body, bytesMax, isStatusEnough }: OutboundRequest,
  ) =>
  (resolve: Reading['resolve'], reject: Reading['reject']): void => {
    const options = { path: url.pathname + url.search, method, headers, body }
    const handler = isStatusEnough ? readStatus : readWhole
    connection.gather()
    connection.client.dispatch(options, handler({ connection, bytesMax, resolve, reject }))
  }

interface Reading {
  connection: OutboundConnection
  bytesMax: number
  resolve: (answer: OutboundAnswer) => void
  reject: (err: unknown) => void
}

/** Fails when the answer does not come whole, but for what is longer than it may be. */
function readWhole({ connection, bytesMax, resolve, reject }: Reading): Dispatcher.DispatchHandler {
  const collected = collectAnswer(bytesMax)
  return {
    onRequestStart: () => undefined,
    onResponseStart: (_, status, headers) => collected.begin(status, headers),
    onResponseData(_, part) {
      if (!collected.add(part)) resolve(collected.answer(true))
    },
    onResponseEnd() {
      connection.release()
      resolve(collected.answer(false))
    },
    onResponseError: (_, err) => reject(staleOr(err, connection, collected.hasBegun())),
  }
}

/** Once the status is there, a body that is late, endless or broken takes nothing from the answer. */
function readStatus({
  connection,
  bytesMax,
  resolve,
  reject,
}: Reading): Dispatcher.DispatchHandler {
  const collected = collectAnswer(bytesMax)
  let late: NodeJS.Timeout | undefined
  const done = (isCut: boolean) => {
    clearTimeout(late)
    resolve(collected.answer(isCut))
  }
  return {
    onRequestStart: () => undefined,
    onResponseStart(_, status, headers) {
      collected.begin(status, headers)
      if (collected.hasBegun()) late = setTimeout(() => done(true), BODY_MS)
    },
    onResponseData(_, part) {
      if (!collected.add(part)) done(true)
    },
    onResponseEnd() {
      connection.release()
      done(false)
    },
    onResponseError(_, err) {
      if (collected.hasBegun()) done(true)
      else reject(staleOr(err, connection, false))
    },
  }
}

const staleOr = (err: Error, { isReused }: OutboundConnection, hasBegun: boolean) =>
  isReused && !hasBegun ? new StaleConnection('it had ended', { cause: err }) : err

type Headers = Record<string, string | string[] | undefined>

const nothing = Buffer.alloc(0)

/** Collects a body in one piece of memory: a server may send it in parts of a byte, each of which would weigh a hundred. */
function collectAnswer(max: number) {
  let status = 0
  let headers: Headers = {}
  let kept: Buffer = nothing
  let length = 0
  return {
    /** Statuses below 200 say that an answer is still to come. */
    begin(itsStatus: number, itsHeaders: Headers) {
      if (itsStatus < 200) return
      status = itsStatus
      headers = itsHeaders
    },
    hasBegun: () => status > 0,
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
    answer: (isCut: boolean): OutboundAnswer => ({
      status,
      headers: joined(headers),
      body: kept.subarray(0, length),
      isCut,
    }),
  }
}

function joined(headers: Headers): Record<string, string> {
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) given[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return given
}
