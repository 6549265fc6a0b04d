// A socket that hands large writes over in slices: one write of 40 MB keeps the process from everything else for as long
// as the kernel takes bytes, which beside a fast reader is all of them.
import { Socket } from 'node:net'

const SLICE_BYTES = 256 * 1024

type Callback = (error?: Error | null) => void
type Chunk = { chunk: unknown; encoding: BufferEncoding }

const sizeOf = (chunk: unknown): number => (Buffer.isBuffer(chunk) ? chunk.length : 0)

/** Like a socket of Node. Other work runs between two slices; the order of bytes stays. */
export class SlicedSocket extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, callback: Callback): void {
    if (!Buffer.isBuffer(chunk) || chunk.length <= SLICE_BYTES) {
      super._write(chunk, encoding, callback)
      return
    }
    const writeFrom = (from: number) => {
      const end = Math.min(from + SLICE_BYTES, chunk.length)
      super._write(chunk.subarray(from, end), encoding, (error) => {
        if (error || end === chunk.length) callback(error)
        else setImmediate(writeFrom, end)
      })
    }
    writeFrom(0)
  }

  override _writev(chunks: Chunk[], callback: Callback): void {
    const bytes = chunks.reduce((sum, { chunk }) => sum + sizeOf(chunk), 0)
    if (bytes <= SLICE_BYTES) {
      super._writev?.(chunks, callback)
      return
    }
    const writeFrom = (index: number) => {
      const next = chunks[index]
      if (!next) callback()
      else {
        this._write(next.chunk, next.encoding, (error) => {
          if (error) callback(error)
          else writeFrom(index + 1)
        })
      }
    }
    writeFrom(0)
  }
}
