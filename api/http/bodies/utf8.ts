// Checks that bytes are UTF-8 while they arrive: pieces may end in the middle of a character.
import { isUtf8 } from 'node:buffer'

const NONE = Buffer.alloc(0)

/** Makes a check of one body. Each call of `push` says whether all that has come so far can be UTF-8. */
export function createUtf8Check() {
  /** The beginning of a character whose end has not come. */
  let begun: Buffer = NONE
  return {
    push(piece: Buffer): boolean {
      let from = 0
      if (begun.length > 0) {
        from = Math.min(lengthOf(begun[0]) - begun.length, piece.length)
        begun = Buffer.concat([begun, piece.subarray(0, from)])
        if (begun.length < lengthOf(begun[0])) return true
        if (!isUtf8(begun)) return false
        begun = NONE
      }
      const end = endOfWhole(piece, from)
      if (end < piece.length) begun = Buffer.from(piece.subarray(end))
      return isUtf8(piece.subarray(from, end))
    },
    /** Whether the last character is whole. */
    end: () => begun.length === 0,
  }
}

/** The bytes of a character by its first one; 1 for a byte that begins none, which the check then refuses. */
function lengthOf(first = 0): number {
  if (first >= 0xf0) return 4
  if (first >= 0xe0) return 3
  return first >= 0xc0 ? 2 : 1
}

/** The end of the last whole character. */
function endOfWhole(piece: Buffer, from: number): number {
  for (let back = 1; back <= 3 && piece.length - back >= from; back++) {
    const byte = piece[piece.length - back] ?? 0
    if (byte >= 0xc0) return lengthOf(byte) > back ? piece.length - back : piece.length
    if (byte < 0x80) break
  }
  return piece.length
}
