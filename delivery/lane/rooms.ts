// How much more mail each destination may get now: what the transport allows, less what the lane has under way there. While
// breakers let nothing through, mail stays in line instead of being claimed and written back.
import type { MailTransport, Rooms } from '../../mail/transport.ts'
import type { Breakers, Passage } from '../breakers.ts'

/**
 * The time between two claims while breakers are open for all mail. They find the mail that is tried, and what has expired:
 * of a million mails as much as of a thousand.
 */
const PAUSES_MS: Record<Passage, number> = { all: 0, tries: 1_000, none: 5_000 }

/** The room of what no transport takes: more than one claim. */
const UNBOUNDED = 1_000

/** The room of a destination. */
export const roomIn = ({ known, other }: Rooms, destination: string): number =>
  known.get(destination) ?? other

/**
 * Counts deliveries under way by destination.
 * @param deps `unbounded`: a destination of which the transport knows nothing, and that never rests; absent: there is none
 */
export function createRooms(
  transport: Pick<MailTransport, 'rooms'>,
  deps: { breakers: Pick<Breakers, 'passage'>; now: () => Date; unbounded?: string },
) {
  const { breakers, now, unbounded } = deps
  /** When the last claim began, ms. */
  let claimedAt = Number.NEGATIVE_INFINITY
  const underWay = new Map<string, number>()
  /** Destinations for which more was due than they had room for. */
  let wanting = new Map<string, number>()

  return {
    /** Whether the lane may claim now; then it does. */
    mayClaim(): boolean {
      const time = now().getTime()
      const pause_ms = PAUSES_MS[breakers.passage()]
      // A clock that was set back must not keep the lane from claiming.
      if (time >= claimedAt && time < claimedAt + pause_ms) return false
      claimedAt = time
      return true
    },
    began(destination: string): void {
      underWay.set(destination, (underWay.get(destination) ?? 0) + 1)
    },
    /** A delivery to it has ended. @returns whether mail that waits for the destination should be claimed now */
    ended(destination: string): boolean {
      const left = (underWay.get(destination) ?? 1) - 1
      if (left > 0) underWay.set(destination, left)
      else underWay.delete(destination)
      // A small claim costs as much as a large one, so half of the room must be free.
      const half = wanting.get(destination)
      if (half === undefined || left > half) return false
      wanting.delete(destination)
      return true
    },
    /** The last claim has filled these, so that some of their mail may still wait. */
    wanted(destinations: readonly string[]): void {
      for (const one of destinations) {
        const count = underWay.get(one)
        // With nothing under way it rests, and the lane comes back by itself.
        if (count !== undefined) wanting.set(one, Math.floor(count / 2))
      }
    },
    /** How many more each destination has room for. */
    left(): Rooms {
      wanting = new Map()
      const rooms = transport.rooms()
      if (rooms.known.size === 0 && rooms.other === Number.POSITIVE_INFINITY) return rooms
      const known = new Map(rooms.known)
      for (const [one, count] of underWay) known.set(one, roomIn(rooms, one) - count)
      if (unbounded !== undefined) known.set(unbounded, UNBOUNDED)
      return { known, other: rooms.other }
    },
  }
}
