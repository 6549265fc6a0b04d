// Limits of one client of the inbound listener: connections, time, unknown recipients.
import type { Socket } from 'node:net'
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'
import { SmtpRefusal } from '../refusal.ts'

const CONNECTIONS_PER_CLIENT_MAX = 20
const REFUSED_RECIPIENTS_MAX = 20

interface Session {
  id: string
  remoteAddress: string
}

/**
 * Makes the counters of connections and refused recipients. A refusal is the reply to send. A connection is closed
 * after `life_ms`.
 */
export function createGuard({ life_ms }: { life_ms: number }) {
  /** Open connections of each client; an IPv6 /64 is one. */
  const open = new Map<string, number>()
  /** Session id → its client. A session may close without having been counted: some are refused before. */
  const counted = new Map<string, string>()
  const refused = new Map<string, number>()

  return {
    /** @returns null when the client may go on */
    onConnect({ id, remoteAddress }: Session): SmtpRefusal | null {
      const client = clientNetwork(remoteAddress)
      const count = (open.get(client) ?? 0) + 1
      open.set(client, count)
      counted.set(id, client)
      return count > CONNECTIONS_PER_CLIENT_MAX
        ? new SmtpRefusal(421, '4.7.0 Too many connections from your address, try again later')
        : null
    },
    onClose({ id }: Pick<Session, 'id'>): void {
      refused.delete(id)
      const client = counted.get(id)
      if (client === undefined) return
      counted.delete(id)
      const count = (open.get(client) ?? 1) - 1
      if (count > 0) open.set(client, count)
      else open.delete(client)
    },
    /** The reply to a recipient that does not exist here. From the twentieth on it closes the connection. */
    onRefused({ id }: Pick<Session, 'id'>): SmtpRefusal {
      const count = (refused.get(id) ?? 0) + 1
      refused.set(id, count)
      return count >= REFUSED_RECIPIENTS_MAX
        ? new SmtpRefusal(421, '4.7.0 Too many recipients that do not exist')
        : new SmtpRefusal(550, '5.1.1 There is no such return path here')
    },
    limitLife(socket: Socket): void {
      const timer = setTimeout(() => socket.destroy(), life_ms)
      timer.unref()
      socket.once('close', () => clearTimeout(timer))
    },
  }
}
