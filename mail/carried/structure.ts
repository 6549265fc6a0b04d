// Finds the parts of a message that came whole, by their places in it: its html, its text, and all others.
import type { Field } from '../dkim/canonical.ts'
import { fieldValue, readHeader } from './header.ts'

/** Multiparts inside each other, and parts in all: what lies beyond is not looked at. */
const DEPTH_MAX = 10
const PARTS_MAX = 500
/** Lines that may be boundaries, of the whole message: empty parts between them count as none. */
const BOUNDARIES_MAX = 10_000

/** The places are those of the whole message. */
interface Part {
  start: number
  end: number
  /** In lower case; '' when it says none. */
  encoding: string
}

/** A part that readers see as the body. */
export interface TextPart extends Part {
  /** Where its header begins; 0 for that of the message. */
  headerAt: number
  /** In lower case; '' when it says none. */
  charset: string
}

/** A part of another kind, or an attached one. */
export interface OtherPart extends Part {
  /** In lower case; '' where its header cannot be read, which then belongs to the part. */
  type: string
  /** Whether it is a signature, or what is signed or encrypted as one: whoever sends such a message again makes it anew. */
  isSealed: boolean
  /** Its file name, in each form that its header has it, as it is written. */
  names: string[]
}

interface Structure {
  /** The first of its kind that is not attached. */
  html: TextPart | null
  text: TextPart | null
  others: OtherPart[]
  /** Whether somebody has signed a part, so that no byte of it may change. */
  isSigned: boolean
}

/** What holds a message that is signed or encrypted (RFC 3156, RFC 8551). */
const SEALED = /^(multipart\/(signed|encrypted)|application\/(x-)?pkcs7-mime)$/
/** Of what holds one, and of a signature beside what it signs: the bytes are new each time. */
const SEALED_BYTES = /^application\/(pgp-signature|(x-)?pkcs7-(signature|mime))$/

/** Finds the parts. A part whose header cannot be read, or that is one too many, counts as one of another kind. */
export function findParts(message: Buffer): Structure {
  const found: Structure = {
    html: null,
    text: null,
    others: [],
    isSigned: false,
  }
  let parts = 0
  const boundaries = { left: BOUNDARIES_MAX }

  function walk(from: number, to: number, depth: number, isEncrypted: boolean): void {
    parts += 1
    const isTooMany = parts > PARTS_MAX || depth > DEPTH_MAX
    const header = isTooMany ? '' : readHeader(message.subarray(from, to))
    if (typeof header === 'string') {
      const unread = { encoding: '', type: '', names: [], isSealed: isEncrypted }
      found.others.push({ start: from, end: to, ...unread })
      return
    }
    const { fields, bodyAt } = header
    const start = from + bodyAt
    const { type, parameters } = contentType(fields)
    if (SEALED.test(type)) found.isSigned = true
    const boundary = parameters.get('boundary')
    if (type.startsWith('multipart/') && boundary) {
      for (const [first, last] of segments(message.subarray(0, to), boundary, start, boundaries)) {
        const isLast = parts >= PARTS_MAX
        walk(first, isLast ? to : last, depth + 1, isEncrypted || type === 'multipart/encrypted')
        if (isLast) break
      }
      return
    }
    const encoding = tokenOf(fields, 'content-transfer-encoding')
    const kind = type === 'text/html' ? 'html' : type === 'text/plain' ? 'text' : null
    if (kind === null || isAttached(fields, parameters) || found[kind]) {
      const names = namesOf(fields, parameters)
      const isSealed = isEncrypted || SEALED_BYTES.test(type)
      found.others.push({ start, end: to, encoding, type, isSealed, names })
      return
    }
    found[kind] = {
      headerAt: from,
      start,
      end: to,
      encoding,
      charset: (parameters.get('charset') ?? '').toLowerCase(),
    }
  }

  walk(0, message.length, 0, false)
  return found
}

/**
 * The places of the parts of a multipart: from its boundary to the next one, without the line ends that belong to these.
 * @param message up to the end of the multipart
 * @param boundaries how many may still be looked at; what follows the last is one part
 */
function* segments(
  message: Buffer,
  boundary: string,
  start: number,
  boundaries: { left: number },
): Generator<[from: number, to: number]> {
  const line = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const nextLine = (from: number) => placeOf(message, line, from)
  const end = message.length
  let from: number | null = null
  // The line end before the first boundary may be that of the header.
  for (let at = nextLine(start - 2); at >= 0 && boundaries.left > 0; ) {
    boundaries.left -= 1
    const after = at + line.length
    const isLast = message.toString('latin1', after, after + 2) === '--'
    const next = isLast ? after : endOfBoundary(message, after)
    if (next !== null) {
      if (from !== null && at >= from) yield [from, at]
      if (isLast) return
      from = next
    }
    at = nextLine(next === null ? after : next - 2)
  }
  if (from !== null && from < end) yield [from, end]
}

/**
 * The next place of the line of a boundary; -1 when there is none. Only its first four bytes are searched for: with all of them a search
 * may compare much of the line at each byte of the message. (RFC 2046 section 5.1.1 has 70 characters at most; some write more.)
 */
function placeOf(message: Buffer, line: Buffer, from: number): number {
  for (let at = message.indexOf(DASHES, from); at >= 0; at = message.indexOf(DASHES, at + 2)) {
    if (message.compare(line, 0, line.length, at, Math.min(at + line.length, message.length)) === 0)
      return at
  }
  return -1
}

/** Where the line of a boundary ends; null when it goes on, and so is another boundary. */
function endOfBoundary(message: Buffer, after: number): number | null {
  let at = after
  while (message[at] === 0x20 || message[at] === 0x09) at += 1
  return message[at] === 0x0d && message[at + 1] === 0x0a ? at + 2 : null
}

const DASHES = Buffer.from('\r\n--', 'latin1')

const firstOf = (fields: readonly Field[], name: string) => fields.find((one) => one.name === name)

const tokenOf = (fields: readonly Field[], name: string): string => {
  const field = firstOf(fields, name)
  return field ? (/^[^\s;]*/.exec(fieldValue(field))?.[0] ?? '').toLowerCase() : ''
}

const PARAMETER =
  /;\s*([\w!#$&.^`|~*+-]{1,80})\s*=\s*(?:"((?:[^"\\]|\\.){0,1000})"|([^\s;"]{1,1000}))/g

/** The media type (RFC 2045 section 5.2: text/plain where there is none), and its parameters by name. */
function contentType(fields: readonly Field[]) {
  const field = firstOf(fields, 'content-type')
  const value = field ? fieldValue(field) : ''
  const type = /^[\w.+-]{1,100}\/[\w.+-]{1,100}/.exec(value)?.[0].toLowerCase()
  const parameters = parametersOf(value)
  return { type: type ?? (field ? 'application/octet-stream' : 'text/plain'), parameters }
}

/** The parameters of a field, by name; the first of each. */
function parametersOf(value: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, plain] of value.matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '')
  }
  return parameters
}

/** @param parameters of its Content-Type */
function namesOf(fields: readonly Field[], parameters: ReadonlyMap<string, string>): string[] {
  const field = firstOf(fields, 'content-disposition')
  const all = [...parameters, ...(field ? parametersOf(fieldValue(field)) : [])]
  // `filename*0*` and its like: a name in pieces (RFC 2231).
  return all.flatMap(([key, value]) => (/^(file)?name(\*|$)/.test(key) ? [value] : []))
}

function isAttached(fields: readonly Field[], parameters: ReadonlyMap<string, string>): boolean {
  const disposition = tokenOf(fields, 'content-disposition')
  return disposition === 'attachment' || parameters.has('name')
}
