// Bytes that arrive in pieces, in one block of memory at the end.

/** Beyond this size the block is made as large as what can still come; pages that nothing is written to cost nothing. */
const JUMP_BYTES = 1024 * 1024

/** What is shorter is copied byte by byte: the call of a copy costs more. */
const SHORT_BYTES = 48

/** Collects bytes up to a limit. More are counted and not kept. */
export class GrowingBytes {
  /** All bytes that came, also those over the limit. */
  size = 0
  readonly #bytesMax: number
  #block: Buffer | undefined
  #kept = 0

  /** @param bytesMax what is kept, and not more than what can come */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Copies the bytes between two places, so that the caller may use them again. */
  add(piece: Uint8Array, from = 0, to = piece.length): void {
    const count = to - from
    this.size += count
    if (this.size > this.#bytesMax || count === 0) return
    const block = this.#ensure(this.#kept + count)
    if (count > SHORT_BYTES) block.set(piece.subarray(from, to), this.#kept)
    else for (let i = 0; i < count; i++) block[this.#kept + i] = piece[from + i] ?? 0
    this.#kept += count
  }

  /** What was kept, without a copy where it is most of the block. */
  bytes(from = 0, to = this.#kept): Buffer {
    return this.#block?.subarray(from, to) ?? Buffer.alloc(0)
  }

  /** What was kept, in memory of about its size. */
  done(): Buffer {
    const bytes = this.bytes()
    return 2 * bytes.length < (this.#block?.length ?? 0) ? Buffer.from(bytes) : bytes
  }

  #ensure(bytes: number): Buffer {
    if (this.#block && this.#block.length >= bytes) return this.#block
    // Most texts are one piece, so the first block is no larger than that.
    const wanted = bytes > JUMP_BYTES ? this.#bytesMax : this.#block ? 2 * bytes : bytes
    const block = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(wanted, this.#bytesMax)))
    if (this.#block) block.set(this.bytes())
    this.#block = block
    return block
  }
}
