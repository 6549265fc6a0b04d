// The bytes of a request's body, piece by piece, taken only as fast as they are wanted.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidJson } from '../errors.ts'
import { expectsContinue } from './continue.ts'
import type { Pace } from './pace.ts'
import { PIECE_BYTES } from './unescaper.ts'

export interface BodySource {
  /**
   * The next bytes, at most `PIECE_BYTES`; null at the end.
   * @throws ApiError 408 for a slow client, 400 for one that went away
   */
  next(): Promise<Buffer | null>
}

/** The body of a request that Node's server has taken. While nobody calls `next`, the socket is not read. */
export function nodeSource(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  pace: Pace,
): BodySource {
  let ahead: Buffer | null = null
  const take = (): Buffer | null => {
    const bytes = ahead ?? (incoming.read() as Buffer | null)
    if (!bytes) return null
    ahead = bytes.length > PIECE_BYTES ? bytes.subarray(PIECE_BYTES) : null
    return ahead ? bytes.subarray(0, PIECE_BYTES) : bytes
  }
  return {
    async next() {
      if (expectsContinue.delete(incoming)) outgoing.writeContinue()
      for (;;) {
        const bytes = take()
        if (bytes) {
          pace.came(bytes.length)
          return bytes
        }
        if (incoming.complete) return null
        // Nobody is there any more to read the answer.
        if (incoming.destroyed) throw invalidJson()
        await pace.wait(incoming)
      }
    },
  }
}

/** The body of a request without a socket, as tests make it. */
export function webSource(body: ReadableStream<Uint8Array> | null): BodySource {
  const reader = body?.getReader()
  let ahead: Buffer = Buffer.alloc(0)
  return {
    async next() {
      while (ahead.length === 0) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done || !value) return null
        ahead = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      }
      const piece = ahead.subarray(0, PIECE_BYTES)
      ahead = ahead.subarray(PIECE_BYTES)
      return piece
    },
  }
}
