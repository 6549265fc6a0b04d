// Opens sockets within a timeout, and writes to them with back-pressure.
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** The connection broke, was closed or too slow, or the server did not speak SMTP. */
export class WireError extends Error {
  override name = 'WireError'
  /** True if TLS failed: its certificate or its handshake. */
  readonly tls: boolean

  constructor(message: string, tls = false) {
    super(message)
    this.tls = tls
  }
}

const SLICE_BYTES = 256 * 1024
const NOTHING = Buffer.alloc(0)

/** Writes all parts. A large message goes in slices, so that other connections can write between them. */
export async function writeAll(
  current: () => Socket,
  parts: Buffer[],
  timeout_ms: number,
  broken: () => WireError | null,
  fail: (message: string) => void,
): Promise<void> {
  const socket = current()
  const [only] = parts
  if (only && parts.length === 1 && only.length <= SLICE_BYTES) {
    socket.write(only)
    // For nearly all mail the kernel takes the bytes at once, and there is nothing to wait for.
    if (socket.writableLength === 0 && !broken()) return
  }
  const stall = setTimeout(() => fail(`body took longer than ${timeout_ms} ms`), timeout_ms)
  try {
    const small = parts.length <= 8 && parts.every((part) => part.length <= SLICE_BYTES)
    if (small) {
      socket.cork()
      if (parts.length > 1) for (const part of parts) socket.write(part)
      const done = written(socket)
      socket.uncork()
      await done
    } else {
      for (const part of parts) {
        for (let at = 0; at < part.length; at += SLICE_BYTES) {
          if (broken()) break
          socket.write(part.subarray(at, at + SLICE_BYTES))
          await written(socket)
          stall.refresh()
        }
      }
    }
    const failure = broken()
    if (failure) throw failure
  } finally {
    clearTimeout(stall)
  }
}

/** Writes parts one after the other, so that only one of them is in memory. */
export async function writeEach(
  current: () => Socket,
  parts: AsyncIterable<Buffer>,
  timeout_ms: number,
  broken: () => WireError | null,
  fail: (message: string) => void,
): Promise<void> {
  const socket = current()
  const stall = setTimeout(() => fail(`body took longer than ${timeout_ms} ms`), timeout_ms)
  try {
    for await (const part of parts) {
      if (broken()) break
      socket.write(part)
      await written(socket)
      stall.refresh()
    }
    const failure = broken()
    if (failure) throw failure
  } finally {
    clearTimeout(stall)
  }
}

/** Resolves when all earlier writes are done, or when the socket breaks. */
function written(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve()
    else socket.write(NOTHING, () => resolve())
  })
}

/** The name for SNI; '' for an IP address, which SNI does not allow. */
export function serverName(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host
}

/** Waits until a socket is open. @throws WireError if `event` does not come within `timeout_ms` */
export function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  timeout_ms: number,
  what: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => end(new WireError(`${what} took longer than ${timeout_ms} ms`, what === 'tls')),
      timeout_ms,
    )
    const onError = (err: Error) => end(new WireError(err.message, !/^E[A-Z]+$/.test(codeOf(err))))
    const onClose = () => end(new WireError(`the connection was closed in ${what}`))
    const end = (err: WireError | null) => {
      clearTimeout(timer)
      socket.off(event, onOpen)
      socket.off('error', onError)
      socket.off('close', onClose)
      if (!err) return resolve()
      socket.on('error', () => {})
      socket.destroy()
      reject(err)
    }
    const onOpen = () => end(null)
    socket.once(event, onOpen)
    socket.once('error', onError)
    socket.once('close', onClose)
  })
}

function codeOf(err: Error): string {
  return 'code' in err ? String(err.code) : ''
}

/** `ip:port` and the TLS version of a socket. If the socket has no address any more, `host` is used. */
export function describeSocket(
  socket: Socket,
  { host, port }: { host: string; port: number },
): { address: string; tls: string | null } {
  const ip = socket.remoteAddress ?? host
  const address = `${ip.includes(':') ? `[${ip}]` : ip}:${port}`
  return { address, tls: socket instanceof TLSSocket ? socket.getProtocol() : null }
}
