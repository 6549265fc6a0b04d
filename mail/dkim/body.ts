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
const BLANK_LINES = Buffer.alloc(32 * 1024, '\r\n')

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

  /** Hashes one slice. Returns false for a bare CR or LF. */
  function feed(slice: Buffer): boolean {
    let { space, cr, breaks, used } = state
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
        // needs room for a line break, a space and the byte
        if (used + 4 > scratch.length) {
          hash.update(scratch.subarray(0, used))
          used = 0
        }
        if (breaks > 0) {
          if (breaks > 1) {
            hash.update(scratch.subarray(0, used))
            used = 0
            for (let left = breaks - 1; left > 0; left -= BLANK_LINES.length / 2) {
              hash.update(BLANK_LINES.subarray(0, 2 * left))
            }
          }
          scratch[used++] = CR
          scratch[used++] = LF
          breaks = 0
        }
        if (space) {
          scratch[used++] = SPACE
          space = false
        }
        scratch[used++] = byte
      }
    }
    state.empty = state.empty && used === 0
    Object.assign(state, { space, cr, breaks, used })
    return true
  }

  function end(isWhole: boolean): string | null {
    if (!isWhole || state.cr) return null
    hash.update(scratch.subarray(0, state.used))
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
