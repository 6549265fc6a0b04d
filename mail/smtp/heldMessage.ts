// A message as a stream that gives all its bytes but not its end: the end is what sends the final dot.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'

const SLICE_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

export interface Holder {
  /** The socket that the bytes go to; null once it is gone. */
  socket(): Socket | null
  /** A slice is on its way: the receiver is alive. */
  progressed(): void
  /** Every byte has been handed to the kernel. True lets the message end; false or a throw does not. */
  mayEnd(): Promise<boolean>
}

/**
 * Nothing but `mayEnd` ends it. nodemailer writes the final dot when, and only when, its source ends;
 * it reads the first slice only after the 354.
 */
export class HeldMessage extends Readable {
  readonly #message: Buffer
  readonly #holder: Holder
  #offset = 0
  #target: Transform | null = null

  constructor(message: Buffer, holder: Holder) {
    super({ highWaterMark: SLICE_BYTES })
    this.#message = message
    this.#holder = holder
  }

  /** The stream that stuffs dots: it must be drained too before the message counts as written. */
  override pipe<T extends NodeJS.WritableStream>(target: T, options?: { end?: boolean }): T {
    if (target instanceof Transform) this.#target = target
    return super.pipe(target, options)
  }

  override _read(): void {
    if (this.#offset < this.#message.length) {
      this.#holder.progressed()
      const slice = this.#message.subarray(this.#offset, this.#offset + SLICE_BYTES)
      // between slices the event loop has its turn; the first one has no reason to wait
      if (this.#offset === 0) this.push(slice)
      else setImmediate(() => this.destroyed || this.push(slice))
      this.#offset += slice.length
      return
    }
    void this.#hold()
  }

  async #hold(): Promise<void> {
    try {
      await this.#flushed()
      const mayEnd = await this.#holder.mayEnd()
      if (mayEnd && !this.destroyed) this.push(null)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Resolves when no byte is left on our side: not here, not in the dot-stuffer, not in the socket. */
  async #flushed(): Promise<void> {
    for (;;) {
      const socket = this.#holder.socket()
      if (this.destroyed || socket === null || socket.destroyed) {
        throw new Error('the connection closed while the message was being written')
      }
      const behind = this.readableLength + (this.#target?.writableLength ?? 0)
      if (behind + (this.#target?.readableLength ?? 0) + socket.writableLength === 0) return
      if (socket.writableNeedDrain) await drained(socket)
      else if (socket.writableLength > 0) await written(socket)
      else await nextTurn()
    }
  }
}

async function drained(socket: Socket): Promise<void> {
  const stop = new AbortController()
  const closed = once(socket, 'close', { signal: stop.signal })
  const drain = once(socket, 'drain', { signal: stop.signal })
  closed.catch(() => undefined)
  drain.catch(() => undefined)
  await Promise.race([drain, closed])
  stop.abort()
}

/** An empty write is called back when all writes before it are done, or when the socket breaks. */
function written(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.write(NOTHING, () => resolve()))
}
