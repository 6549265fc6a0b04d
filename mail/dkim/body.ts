// The relaxed body hash of DKIM (RFC 6376 section 3.4.4), in slices, so that a body of 40 MB does not block the
// event loop.
import { createHash } from 'node:crypto'
import type { MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import { inSlices } from '../slices.ts'

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

/** Bytes in one turn of the event loop: a millisecond or two of work. */
const SLICE_BYTES = 256 * 1024
const SCRATCH_BYTES = 64 * 1024
/** Longer runs are hashed where they stand. */
const RUN_BYTES = 4 * 1024
/** Shorter runs are copied byte by byte, since a call of `copy` costs as much. */
const COPY_BYTES = 100
const BLANK_LINES = Buffer.alloc(2 * 1024, '\r\n')
const ONE_SPACE = Buffer.from(' ')
const isBlank = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === SPACE || byte === TAB || byte === CR || byte === LF ? 1 : 0,
)

/**
 * The end of what stays as it is, from a byte on that is no blank: one space, or any number of line breaks, between such bytes
 * belongs to it. Most of a body is one such run.
 */
function endOfRun(slice: Buffer, from: number): number {
  const { length } = slice
  let i = from
  for (;;) {
    while (i < length && isBlank[slice[i] ?? 0] === 0) i++
    let next = i
    if (slice[i] === SPACE) next += 1
    else while (slice[next] === CR && slice[next + 1] === LF) next += 2
    if (next === i || next >= length || isBlank[slice[next] ?? 0] === 1) return i
    i = next
  }
}

/**
 * SHA-256 of the canonical body, in base64. Null if the body has a bare CR or LF, which servers on the way would
 * change. Uses one small buffer for a body of any size.
 * @param body one buffer, or the pieces of one
 * @param watched for each slice
 */
export function relaxedBodyHash(
  body: Buffer | readonly Buffer[],
  watched: Watched = unwatched,
): MaybeLater<string | null> {
  const chunks = Buffer.isBuffer(body) ? [body] : body
  const hash = createHash('sha256')
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  const scratch = Buffer.allocUnsafe(Math.min(SCRATCH_BYTES, 2 * length + 16))
  const state = { space: false, cr: false, breaks: 0, used: 0, empty: true }

  function flush(): void {
    hash.update(scratch.subarray(0, state.used))
    state.used = 0
  }

  /** Hashes bytes that stay as they are. Runs are gathered: a call of the hash costs as much as some hundred bytes. */
  function take(bytes: Buffer, from: number, end: number): void {
    const length = end - from
    if (state.used + length > scratch.length) flush()
    if (length >= RUN_BYTES) {
      flush()
      hash.update(bytes.subarray(from, end))
    } else if (length >= COPY_BYTES) {
      state.used += bytes.copy(scratch, state.used, from, end)
    } else {
      let at = state.used
      for (let i = from; i < end; i++) scratch[at++] = bytes[i] ?? 0
      state.used = at
    }
    state.empty = false
  }

  /** Writes the line breaks and the space that stand before a byte which is neither. */
  function takeBlanks(breaks: number, space: boolean): void {
    for (let left = breaks; left > 0; left -= BLANK_LINES.length / 2) {
      take(BLANK_LINES, 0, Math.min(2 * left, BLANK_LINES.length))
    }
    if (space) take(ONE_SPACE, 0, 1)
  }

  /** Hashes one slice. Returns false for a bare CR or LF. */
  function feed(slice: Buffer): boolean {
    let { space, cr, breaks } = state
    for (let i = 0; i < slice.length; i++) {
      const byte = slice[i] ?? 0
      if (byte === LF) {
        if (!cr) return false
        cr = false
        space = false
        breaks++
      } else if (cr) {
        return false
      } else if (byte === CR) {
        cr = true
      } else if (byte === SPACE || byte === TAB) {
        space = true
      } else {
        takeBlanks(breaks, space)
        breaks = 0
        space = false
        const end = endOfRun(slice, i)
        take(slice, i, end)
        i = end - 1
      }
    }
    Object.assign(state, { space, cr, breaks })
    return true
  }

  function end(isWhole: boolean): string | null {
    if (!isWhole || state.cr) return null
    flush()
    // a body of only blank lines is empty; any other ends with one line break
    if (!state.empty) hash.update('\r\n')
    return hash.digest('base64')
  }

  async function inTurns(): Promise<string | null> {
    for await (const slice of inSlices(chunks, SLICE_BYTES)) {
      if (!watched(() => feed(slice))) return null
    }
    return end(true)
  }

  return length > SLICE_BYTES ? inTurns() : end(watched(() => chunks.every(feed)))
}
