// Limits of the clients that submit mail: connections, time, wrong keys, recipients.
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'
import { gatherWrites } from '../../runtime/gatheredWrites.ts'
import type { SmtpRefusal } from '../refusal.ts'
import { answerAfterQuit } from './lastReplies.ts'
import { replyOf } from './replies.ts'

export const guardRules = {
  /** Connections of one client that have shown no key yet; those that wait for the answer to a wrong one are left out. */
  strangersPerClientMax: 100,
  connectionsPerWorkspaceMax: 100,
  wrongKeysMax: 3,
  /** Recipients over the limit of one connection, before it is closed. */
  excessRecipientsMax: 1_000,
}

export interface GuardTimes {
  /** How long a client may take to show a key. */
  stranger_ms: number
  /** How long one message may take. */
  message_ms: number
}

export const guardTimes: GuardTimes = { stranger_ms: 60_000, message_ms: 15 * 60_000 }

interface Session {
  id: string
  localPort: number
  remoteAddress: string
  remotePort: number
}

interface Known {
  /** What its connection counts for: a client or a workspace. */
  counted: string | null
  socket: Socket | undefined
  /** What replies are written to: the socket, or that of TLS over it. */
  replies: Writable | undefined
  /** Whether the key that it has shown may still be used; null before it has shown one. */
  isKeyGood: (() => Promise<boolean>) | null
  wrongKeys: number
  excess: number
  /** When the message that is being taken had come whole, by `performance.now()`; null: none has. */
  wholeAt: number | null
  timer: NodeJS.Timeout | null
}

/** Two listeners share a guard, and a client may connect to both from one port. */
const placeOf = ({
  localPort,
  remoteAddress,
  remotePort,
}: Pick<Socket, 'localPort' | 'remoteAddress' | 'remotePort'>) =>
  `${localPort} ${(remoteAddress ?? '').replace(/^::ffff:/, '')} ${remotePort}`

/** Makes the counters. A refusal is the reply to send; one of 421 ends the connection. */
export function createGuard({ stranger_ms, message_ms }: GuardTimes = guardTimes) {
  const counts = new Map<string, number>()
  const sessions = new Map<string, Known>()
  /** Connections whose handshake is under way, each with what ends its being counted. */
  const handshakes = new Map<Socket, () => void>()
  /** Sockets without a session yet, by our port and the address and port of the client: the library does not say which one a session has. */
  const sockets = new Map<string, Socket>()

  const change = (name: string, by: number): number => {
    const count = (counts.get(name) ?? 0) + by
    if (count > 0) counts.set(name, count)
    else counts.delete(name)
    return count
  }
  const count = (known: Known, name: string | null): number => {
    if (known.counted !== null) change(known.counted, -1)
    known.counted = name
    return name === null ? 0 : change(name, 1)
  }
  const limitTime = (known: Known, ms: number | null) => {
    if (known.timer) clearTimeout(known.timer)
    known.timer = null
    if (ms === null) return
    known.timer = setTimeout(() => known.socket?.destroy(), ms)
    known.timer.unref()
  }
  /** Ends those of a workspace whose keys were revoked or have expired: they would keep its places from those who show a good one. */
  const endRevoked = async (name: string) => {
    const all = [...sessions.values()].filter(({ counted }) => counted === name)
    const looked = all.map(async (known) => {
      // What cannot be found out now counts as good.
      if ((await known.isKeyGood?.().catch(() => true)) !== false) return
      count(known, null)
      known.socket?.destroy()
    })
    await Promise.all(looked)
  }
  const clientOf = ({ remoteAddress }: Pick<Socket, 'remoteAddress'>) =>
    `client ${clientNetwork(remoteAddress ?? '')}`
  /**
   * Counts a handshake of TLS among its client's connections without a key, until its session begins. Calls `end` after `stranger_ms`.
   * @returns false: there are too many
   */
  const countHandshake = (socket: Socket, end: () => void): boolean => {
    const name = clientOf(socket)
    if (change(name, 1) > guardRules.strangersPerClientMax) {
      change(name, -1)
      return false
    }
    const timer = setTimeout(end, stranger_ms).unref()
    handshakes.set(socket, () => {
      handshakes.delete(socket)
      clearTimeout(timer)
      change(name, -1)
    })
    return true
  }

  return {
    /** For metrics. */
    connections: () => sessions.size,
    /**
     * A connection has come.
     * @param endHandshake ends the handshake of TLS with which it begins; null: it begins with none. Nothing can be replied before that is over
     * @returns false: it was closed, since its client has too many
     */
    onSocket(socket: Socket, endHandshake: (() => void) | null): boolean {
      if (endHandshake && !countHandshake(socket, endHandshake)) {
        socket.on('error', () => undefined).destroy()
        return false
      }
      const place = placeOf(socket)
      sockets.set(place, socket)
      socket.once('close', () => {
        handshakes.get(socket)?.()
        if (sockets.get(place) === socket) sockets.delete(place)
      })
      return true
    },
    onConnect(session: Session & { secure: boolean }): SmtpRefusal | null {
      const place = placeOf(session)
      const socket = sockets.get(place)
      // At STARTTLS the library takes all listeners off the socket, so its end would not be heard.
      sockets.delete(place)
      if (socket) handshakes.get(socket)?.()
      const none = { counted: null, isKeyGood: null, wrongKeys: 0, excess: 0, timer: null }
      const known: Known = { ...none, wholeAt: null, socket, replies: socket }
      if (socket && !session.secure) answerAfterQuit(socket, () => known.wholeAt)
      sessions.set(session.id, known)
      limitTime(known, stranger_ms)
      return count(known, clientOf(session)) > guardRules.strangersPerClientMax ? tooMany() : null
    },
    /** The session goes on over TLS. */
    onSecure({ id }: Pick<Session, 'id'>, socket: Socket): void {
      answerAfterQuit(socket, () => sessions.get(id)?.wholeAt ?? null)
      const known = sessions.get(id)
      if (known) known.replies = socket
    },
    /**
     * What is replied in this turn of the event loop is written at once: who sends commands in a group hears the replies as one
     * (RFC 2920 section 3.2).
     */
    gatherReplies({ id }: Pick<Session, 'id'>): void {
      const replies = sessions.get(id)?.replies
      if (replies) gatherWrites(replies)
    },
    /** The client has shown the key of a workspace. @param isKeyGood tells later whether it still is */
    async onKey(
      { id }: Pick<Session, 'id'>,
      workspaceId: string,
      isKeyGood: () => Promise<boolean>,
    ): Promise<SmtpRefusal | null> {
      const known = sessions.get(id)
      if (!known) return null
      limitTime(known, null)
      known.isKeyGood = isKeyGood
      const name = `workspace ${workspaceId}`
      if (count(known, name) <= guardRules.connectionsPerWorkspaceMax) return null
      await endRevoked(name)
      return (counts.get(name) ?? 0) > guardRules.connectionsPerWorkspaceMax ? tooMany() : null
    },
    /** The client has shown a wrong key. @param pause waits before the answer */
    async onWrongKey(session: Session, pause: () => Promise<void>): Promise<SmtpRefusal> {
      const known = sessions.get(session.id)
      if (known) count(known, null)
      await pause()
      if (known && sessions.has(session.id)) count(known, clientOf(session))
      const isLast = known !== undefined && ++known.wrongKeys >= guardRules.wrongKeysMax
      return replyOf({
        reply: isLast ? 421 : 535,
        enhanced: isLast ? '4.7.0' : '5.7.8',
        code: 'invalid_api_key',
        text: 'The API key is unknown, revoked or expired',
      })
    },
    /** The client names more recipients than one message may have. */
    onExcessRecipient({ id }: Session, max: number): SmtpRefusal {
      const known = sessions.get(id)
      if (known && ++known.excess >= guardRules.excessRecipientsMax) return tooMany('recipients')
      const text = `Too many recipients. Maximum allowed is ${max}`
      return replyOf({ reply: 452, enhanced: '4.5.3', code: null, text })
    },
    /** A message begins to come. @returns called once it is taken, or is not */
    onMessage({ id }: Session, message: Readable): () => void {
      const known = sessions.get(id)
      if (!known) return () => undefined
      limitTime(known, message_ms)
      const onWhole = () => {
        known.wholeAt = performance.now()
      }
      message.once('end', onWhole)
      return () => {
        message.off('end', onWhole)
        known.wholeAt = null
        limitTime(known, null)
      }
    },
    onClose({ id }: Pick<Session, 'id'>): void {
      const known = sessions.get(id)
      if (!known) return
      sessions.delete(id)
      limitTime(known, null)
      count(known, null)
    },
  }
}

const tooMany = (what = 'connections') =>
  replyOf({
    reply: 421,
    enhanced: '4.7.0',
    code: 'rate_limited',
    text: `Too many ${what}, try again later`,
  })
