// Hands large writes to a connection over in slices: one write of 40 MB keeps the process from everything else for as long
// as the kernel takes bytes, which beside a fast reader is all of them.
import type { Socket } from 'node:net'

const SLICE_BYTES = 256 * 1024

type Callback = (error?: Error | null) => void
type Chunk = { chunk: unknown; encoding: BufferEncoding }

const sizeOf = (chunk: unknown): number => (Buffer.isBuffer(chunk) ? chunk.length : 0)

/**
 * Changes how a connection writes: other work runs between two slices; the order of bytes stays. With TLS it must be the
 * TLS socket, which writes past the socket below it.
 */
export function sliceWrites(socket: Socket): void {
  const write = socket._write.bind(socket)
  const writeAll = socket._writev?.bind(socket)

  socket._write = (chunk: unknown, encoding: BufferEncoding, callback: Callback) => {
    if (!Buffer.isBuffer(chunk) || chunk.length <= SLICE_BYTES) {
      write(chunk, encoding, callback)
      return
    }
    const writeFrom = (from: number) => {
      const end = Math.min(from + SLICE_BYTES, chunk.length)
      write(chunk.subarray(from, end), encoding, (error) => {
        if (error || end === chunk.length) callback(error)
        else setImmediate(writeFrom, end)
      })
    }
    writeFrom(0)
  }

  socket._writev = (chunks: Chunk[], callback: Callback) => {
    const bytes = chunks.reduce((sum, { chunk }) => sum + sizeOf(chunk), 0)
    if (writeAll && bytes <= SLICE_BYTES) {
      writeAll(chunks, callback)
      return
    }
    // Chunks that the kernel takes at once follow each other without a turn of the event loop, until they are a slice.
    const writeFrom = (index: number, inTurn: number) => {
      const next = chunks[index]
      if (!next) return callback()
      const sum = inTurn + sizeOf(next.chunk)
      socket._write(next.chunk, next.encoding, (error) => {
        if (error) callback(error)
        else if (sum < SLICE_BYTES) writeFrom(index + 1, sum)
        else setImmediate(writeFrom, index + 1, 0)
      })
    }
    writeFrom(0, 0)
  }
}
