// Texts for Postgres as one binary parameter: nothing of them is escaped here or read character by character there.

const TEXT_OID = 25
/** Dimensions, whether there are nulls, the type of elements; then length and lower bound of the one dimension. */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/**
 * A parameter `text[]` in the binary form of Postgres (`array_recv`).
 * @param texts of which Postgres refuses one with U+0000; half a surrogate pair becomes U+FFFD
 */
export function binaryTexts(texts: readonly (string | null)[]): Buffer {
  let bytes = HEADER_BYTES
  for (const text of texts) bytes += LENGTH_BYTES + (text === null ? 0 : Buffer.byteLength(text))
  const all = Buffer.allocUnsafe(bytes)
  all.writeInt32BE(texts.length === 0 ? 0 : 1, 0)
  all.writeInt32BE(texts.includes(null) ? 1 : 0, 4)
  all.writeInt32BE(TEXT_OID, 8)
  if (texts.length === 0) return all.subarray(0, 12)
  all.writeInt32BE(texts.length, 12)
  all.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (const text of texts) {
    const length = text === null ? 0 : all.write(text, at + LENGTH_BYTES)
    all.writeInt32BE(text === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES + length
  }
  return all
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
