// Limits of one client of the inbound listener: connections, time, unknown recipients.
import type { Socket } from 'node:net'
import { SmtpRefusal } from './refusal.ts'

const CONNECTIONS_PER_ADDRESS_MAX = 20
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
  const open = new Map<string, number>()
  /** Session id → its address. A session may close without having been counted: some are refused before. */
  const counted = new Map<string, string>()
  const refused = new Map<string, number>()

  return {
    /** @returns null when the client may go on */
    onConnect({ id, remoteAddress }: Session): SmtpRefusal | null {
      const count = (open.get(remoteAddress) ?? 0) + 1
      open.set(remoteAddress, count)
      counted.set(id, remoteAddress)
      return count > CONNECTIONS_PER_ADDRESS_MAX
        ? new SmtpRefusal(421, '4.7.0 Too many connections from your address, try again later')
        : null
    },
    onClose({ id }: Pick<Session, 'id'>): void {
      refused.delete(id)
      const address = counted.get(id)
      if (address === undefined) return
      counted.delete(id)
      const count = (open.get(address) ?? 1) - 1
      if (count > 0) open.set(address, count)
      else open.delete(address)
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
