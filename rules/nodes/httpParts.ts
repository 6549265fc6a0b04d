// The parts of a request that a design may not choose freely: where its URL leads, and the headers of the service itself.

/** Scheme, host and port, which are fixed before any text is rendered. */
const ORIGIN = /^(https?:\/\/[^/?#\\\s{}@%]+)([/?#][\s\S]*)?$/i
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Those of the connection, and the one by which a call is known again. */
const ownHeaders = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * A URL in two parts: what no text can change, and the path and query, which may have Liquid in them.
 * @returns null when it is no http URL, or has Liquid or a password before its path
 */
export function splitUrl(url: string): { origin: string; rest: string } | null {
  const [, origin, rest = ''] = ORIGIN.exec(url.trim()) ?? []
  return origin !== undefined && URL.canParse(origin) ? { origin, rest } : null
}

/** A segment of a path that URLs leave out together with the one before, as they are parsed. */
const DOT_SEGMENT = /(^|[/\\])(\.|%2e){1,2}(?=$|[/\\])/i

/** Whether values, which are one segment of a path or a part of it, have made one of those that change where a path leads. */
export const isLedElsewhere = (rendered: string, source: string): boolean =>
  hasDotSegment(rendered) && !hasDotSegment(source)

const hasDotSegment = (rest: string): boolean => DOT_SEGMENT.test(rest.split(/[?#]/, 1)[0] ?? '')

export const isHeaderName = (name: string): boolean => HEADER_NAME.test(name)

/** Whether the service sets that header itself. */
export const isOwnHeader = (name: string): boolean => ownHeaders.has(name.toLowerCase())
