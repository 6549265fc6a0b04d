// The two directions of an SMTP connection: bytes out with their back-pressure, replies in with a clock on each.
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { createReplyParser, type SmtpReply } from './replies.ts'

/** The connection broke, closed, was too slow, or did not speak SMTP. */
export class WireError extends Error {
  override name = 'WireError'
  /** True when TLS itself failed: its certificate or its handshake. */
  readonly tls: boolean

  constructor(message: string, tls = false) {
    super(message)
    this.tls = tls
  }
}

export interface WireTarget {
  host: string
  port: number
  /** TLS from the first byte. */
  tls: ConnectionOptions | null
  /** An address of ours to send from. */
  localAddress?: string
}

export type Wire = Awaited<ReturnType<typeof openWire>>

/** Opens a connection. @throws WireError within `timeout_ms` */
export async function openWire(target: WireTarget, timeout_ms: number) {
  const { host, port, localAddress } = target
  const address = { host, port, ...(localAddress ? { localAddress } : {}) }
  const socket = target.tls
    ? connectTls({ ...address, servername: serverName(host), ...target.tls })
    : connectTcp(address)
  await opened(socket, target.tls ? 'secureConnect' : 'connect', timeout_ms, 'connect')
  return createWire(socket, host)
}

function createWire(first: Socket, host: string) {
  let socket = first
  let parser = createReplyParser()
  let broken: WireError | null = null
  /** What the server said after its last sound reply, as a reason to hang up: its sound replies come first. */
  let fault: string | null = null
  const replies: SmtpReply[] = []
  let waiting: { resolve: (reply: SmtpReply) => void; reject: (err: WireError) => void } | null =
    null
  let onEnd: (() => void) | null = null

  function fail(message: string, tls = false): void {
    if (broken) return
    broken = new WireError(message, tls)
    socket.destroy()
    const reader = waiting
    waiting = null
    reader?.reject(broken)
    onEnd?.()
  }

  function read(chunk: Buffer): void {
    const { replies: came, error } = parser.push(chunk)
    for (const reply of came) {
      const reader = waiting
      waiting = null
      if (reader) reader.resolve(reply)
      else replies.push(reply)
    }
    if (error) fault = error
    if (fault && waiting) fail(fault)
  }

  function attach(): void {
    socket.setNoDelay(true)
    socket.on('data', read)
    socket.on('error', (err) => fail(err.message, 'reason' in err || 'library' in err))
    socket.on('close', () => fail('the connection was closed'))
    socket.on('end', () => fail('the server closed the connection'))
  }
  attach()

  return {
    /** The next reply, to `what`. @throws WireError when it does not come in time, or the connection ends */
    reply(what: string, timeout_ms: number): Promise<SmtpReply> {
      const ready = replies.shift()
      if (ready) return Promise.resolve(ready)
      if (fault) fail(fault)
      if (broken) return Promise.reject(broken)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => fail(`${what} took longer than ${timeout_ms} ms`),
          timeout_ms,
        )
        waiting = {
          resolve: (reply) => {
            clearTimeout(timer)
            resolve(reply)
          },
          reject: (err) => {
            clearTimeout(timer)
            reject(err)
          },
        }
      })
    },

    /** Hands bytes to the socket; true when more may follow at once. */
    write(bytes: string | Buffer): boolean {
      return broken ? false : socket.write(bytes)
    },

    /** Writes all of it and resolves when the kernel has every byte. `timeout_ms` counts from progress to progress. */
    writeAll(parts: Buffer[], timeout_ms: number): Promise<void> {
      return writeAll(
        () => socket,
        parts,
        timeout_ms,
        () => broken,
        fail,
      )
    },

    /** Replies that nobody has asked for: the server has something else on its mind. */
    unasked: () => replies.length,

    /** Turns the connection into TLS (RFC 3207). What the server said before counts no more. @throws WireError */
    async startTls(options: ConnectionOptions, timeout_ms: number): Promise<void> {
      // Bytes that came before TLS are an injection: they are not read as the server's.
      if (replies.length > 0) fail('the server spoke between STARTTLS and TLS', true)
      if (broken) throw broken
      socket.removeAllListeners('data')
      socket.removeAllListeners('close')
      socket.removeAllListeners('end')
      socket.removeAllListeners('error')
      const secure = connectTls({ socket, servername: serverName(host), ...options })
      try {
        await opened(secure, 'secureConnect', timeout_ms, 'tls')
      } catch (err) {
        fail(err instanceof Error ? err.message : 'TLS failed', true)
        throw broken
      }
      socket = secure
      parser = createReplyParser()
      attach()
    },

    isBroken: () => broken !== null,
    close: () => fail('closed by us'),
    onEnd(callback: () => void) {
      onEnd = callback
    },
  }
}

const SLICE_BYTES = 256 * 1024

/** Large mail goes in slices, so that other connections have their turn between them. */
async function writeAll(
  current: () => Socket,
  parts: Buffer[],
  timeout_ms: number,
  broken: () => WireError | null,
  fail: (message: string) => void,
): Promise<void> {
  const stall = setTimeout(() => fail(`body took longer than ${timeout_ms} ms`), timeout_ms)
  try {
    const socket = current()
    socket.cork()
    const small = parts.length <= 8 && parts.every((part) => part.length <= SLICE_BYTES)
    if (small) {
      for (const part of parts) socket.write(part)
      const done = written(socket)
      socket.uncork()
      await done
    } else {
      socket.uncork()
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

const NOTHING = Buffer.alloc(0)

/** Called back when all writes before it are done, or when the socket breaks. */
function written(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve()
    else socket.write(NOTHING, () => resolve())
  })
}

/** SNI wants a name: an IP address is none. */
function serverName(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host
}

function opened(
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
