// Texts or bytes for Postgres as one binary parameter: nothing of them is escaped here or read character by character there.

const TEXT_OID = 25
const BYTEA_OID = 17
/** Dimensions, whether there are nulls, the type of elements; then length and lower bound of the one dimension. */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** The length before each text that is shorter than this is written as characters, all of them ASCII. */
const SHORT_MAX = 128
const shortLengths = Array.from({ length: SHORT_MAX }, (_, n) => `\0\0\0${String.fromCharCode(n)}`)

/**
 * A parameter `text[]` in the binary form of Postgres (`array_recv`).
 * @param texts of which Postgres refuses one with U+0000; half a surrogate pair becomes U+FFFD
 */
export function binaryTexts(texts: readonly (string | null)[]): Buffer {
  const short = shortAsciis(texts)
  if (short !== undefined) {
    const all = withHeader(HEADER_BYTES + short.length, texts.length)
    all.write(short, HEADER_BYTES, 'latin1')
    return all
  }
  let bytes = HEADER_BYTES
  for (const text of texts) bytes += LENGTH_BYTES + (text === null ? 0 : Buffer.byteLength(text))
  const all = withHeader(bytes, texts.length)
  if (texts.length === 0) return all.subarray(0, 12)
  all.writeInt32BE(texts.includes(null) ? 1 : 0, 4)
  let at = HEADER_BYTES
  for (const text of texts) {
    const length = text === null ? 0 : all.write(text, at + LENGTH_BYTES)
    all.writeInt32BE(text === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES + length
  }
  return all
}

/** A parameter `bytea[]` in the binary form of Postgres (`array_recv`), which takes no base64. */
export function binaryBytes(values: readonly (Buffer | null)[]): Buffer {
  const header = withHeader(values.length === 0 ? 12 : HEADER_BYTES, values.length, BYTEA_OID)
  if (values.includes(null)) header.writeInt32BE(1, 4)
  const pieces = values.flatMap((value) => {
    const length = Buffer.allocUnsafe(LENGTH_BYTES)
    length.writeInt32BE(value === null ? NULL_LENGTH : value.length)
    return value === null ? [length] : [length, value]
  })
  return Buffer.concat([header, ...pieces])
}

/** Space for an array without nulls, which begins with its header. */
function withHeader(bytes: number, count: number, type = TEXT_OID): Buffer {
  const all = Buffer.allocUnsafe(bytes)
  all.writeInt32BE(count === 0 ? 0 : 1, 0)
  all.writeInt32BE(0, 4)
  all.writeInt32BE(type, 8)
  if (count > 0) {
    all.writeInt32BE(count, 12)
    all.writeInt32BE(1, 16)
  }
  return all
}

/**
 * Lengths and texts as one string, which is written at once in half the time that one after the other takes; undefined if one is
 * null, longer or not ASCII.
 */
function shortAsciis(texts: readonly (string | null)[]): string | undefined {
  if (texts.length === 0) return undefined
  let all = ''
  for (const text of texts) {
    const length = text === null ? undefined : shortLengths[text.length]
    if (length === undefined) return undefined
    all += length + text
  }
  return Buffer.byteLength(all) === all.length ? all : undefined
}

/** What `binaryTexts` was given; undefined for other bytes. */
export function textsOf(bytes: Buffer): (string | null)[] | undefined {
  if (bytes.length < 12 || bytes.readInt32BE(8) !== TEXT_OID) return undefined
  const texts: (string | null)[] = []
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const length = bytes.readInt32BE(at)
    at += LENGTH_BYTES
    texts.push(length === NULL_LENGTH ? null : bytes.toString('utf8', at, at + length))
    at += Math.max(length, 0)
  }
  return texts
}
