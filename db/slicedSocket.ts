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

  // Without it each chunk is written by `_write`.
  if (!writeAll) return
  socket._writev = (chunks: Chunk[], callback: Callback) => {
    const groups = bySlice(chunks)
    const writeFrom = (index: number) => {
      const group = groups[index] ?? []
      const [first] = group
      const done = (error?: Error | null) => {
        if (error || index + 1 >= groups.length) callback(error)
        else setImmediate(writeFrom, index + 1)
      }
      if (group.length > 1) writeAll(group, done)
      else if (first) socket._write(first.chunk, first.encoding, done)
      else callback()
    }
    writeFrom(0)
  }
}

/**
 * Chunks in groups of no more than a slice together; a larger one is a group of its own. Where all fit into one group it is the very array,
 * of which Node knows that it holds Buffers alone.
 */
function bySlice(chunks: Chunk[]): Chunk[][] {
  const groups: Chunk[][] = []
  let room = 0
  for (const one of chunks) {
    const bytes = sizeOf(one.chunk)
    const group = groups.at(-1)
    if (group && bytes <= room) group.push(one)
    else {
      groups.push([one])
      room = SLICE_BYTES
    }
    room -= bytes
  }
  return groups.length > 1 ? groups : [chunks]
}
