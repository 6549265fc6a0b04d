// The byte level of an SMTP connection: writes with back-pressure, and reads replies with a timeout for each.
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { Recorder } from './recorder.ts'
import { createReplyParser, type SmtpReply } from './replies.ts'
import { describeSocket, opened, serverName, WireError, writeAll, writeEach } from './sockets.ts'

export interface WireTarget {
  /** Name or address to connect to. */
  host: string
  /** The server's name in traces. */
  name: string
  port: number
  /** TLS from the first byte. */
  tls: ConnectionOptions | null
  /** Local address to send from. */
  localAddress?: string
}

export type Wire = Awaited<ReturnType<typeof openWire>>

/**
 * Opens a connection.
 * @param recorder records the conversation, until `recordTo` sets another
 * @throws WireError within `timeout_ms`
 */
export async function openWire(target: WireTarget, timeout_ms: number, recorder: Recorder | null) {
  const { host, port, localAddress } = target
  const address = { host, port, ...(localAddress ? { localAddress } : {}) }
  const socket = target.tls
    ? connectTls({ ...address, servername: serverName(host), ...target.tls })
    : connectTcp(address)
  await opened(socket, target.tls ? 'secureConnect' : 'connect', timeout_ms, 'connect')
  const wire = createWire(socket, target)
  wire.recordTo(recorder)
  return wire
}

function createWire(first: Socket, target: WireTarget) {
  const { host, name } = target
  let socket = first
  let recorder: Recorder | null = null
  let peer = { host: name, ...describeSocket(first, target) }
  let parser = createReplyParser()
  let broken: WireError | null = null
  /** Why the server's last bytes are not a reply. The valid replies before them are returned first. */
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
    /**
     * The next reply; `what` names the command in errors. @throws WireError if it does not come in time, or the
     * connection ends
     */
    reply(what: string, timeout_ms: number): Promise<SmtpReply> {
      const ready = replies.shift()
      if (ready) {
        recorder?.hear(ready.text)
        return Promise.resolve(ready)
      }
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
            recorder?.hear(reply.text)
            resolve(reply)
          },
          reject: (err) => {
            clearTimeout(timer)
            reject(err)
          },
        }
      })
    },

    /** Writes lines, given without their last CRLF. `shown` replaces them in the trace. */
    writeLines(lines: string, shown = lines): void {
      if (broken) return
      recorder?.say(shown)
      socket.write(`${lines}\r\n`)
    },

    /** Writes all parts. Resolves when the kernel has every byte. `timeout_ms` starts again with each progress. */
    writeAll(parts: Buffer[], timeout_ms: number): Promise<void> {
      return writeAll(
        () => socket,
        parts,
        timeout_ms,
        () => broken,
        fail,
      )
    },

    /** Like `writeAll`, for parts that are read while they are written; each is asked for when those before are done. */
    writeEach(parts: AsyncIterable<Buffer>, timeout_ms: number): Promise<void> {
      return writeEach(
        () => socket,
        parts,
        timeout_ms,
        () => broken,
        fail,
      )
    },

    /** Count of replies that were not read yet. Before the dot they are unexpected. */
    unasked: () => replies.length,
    /** Why what the server has sent last is no reply; null: it is one. Before the dot it ends the message like a reply. */
    fault: () => fault,

    /** Starts TLS on the connection (RFC 3207). Capabilities from before are no longer valid. @throws WireError */
    async startTls(options: ConnectionOptions, timeout_ms: number): Promise<void> {
      // Replies that came before TLS may be injected, so they are an error.
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
      peer = { host: name, ...describeSocket(secure, target) }
      recorder?.meet(peer)
      parser = createReplyParser()
      attach()
    },

    /** Records the following conversation to another recorder; null: to none. */
    recordTo(next: Recorder | null): void {
      recorder = next
      recorder?.meet(peer)
    },
    isBroken: () => broken !== null,
    close: () => fail('closed by us'),
    onEnd(callback: () => void) {
      onEnd = callback
    },
  }
}
