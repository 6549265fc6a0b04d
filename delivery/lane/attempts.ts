// The attempts that a lane has begun, one at a time for each delivery. What it claims again meanwhile goes back to the queue
// when the attempt has ended.
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import type { createInFlight } from './inFlight.ts'
import type { createRooms } from './rooms.ts'

interface Parts {
  inFlight: ReturnType<typeof createInFlight<ClaimedDelivery>>
  rooms: Pick<ReturnType<typeof createRooms>, 'began' | 'ended'>
  /** Runs one attempt and settles it. It never throws. `onSent` is called when only the settlement of what was taken is left. */
  deliver: (delivery: ClaimedDelivery, onSent: () => void) => Promise<void>
  /** Gives deliveries back that are not marked. */
  release: (deliveries: readonly ClaimedDelivery[]) => Promise<void>
  /** Called after an attempt, or when it needs no place any more; whether its destination has so much room again that waiting mail should be claimed. */
  onEnded: (hasRoom: boolean) => void
  /** Runs work and logs what it throws. */
  quietly: (what: string, work: () => Promise<unknown>) => Promise<void>
}

/**
 * A delivery whose attempt has not ended yet is claimed again in two ways. A crash of Postgres has taken its claim back: then
 * the attempt goes on, and settles it under the lease of the new claim, which is the lane's own. Or the attempt has given it
 * back and is about to end: then nobody would work on it until that lease ends. Which of them it is shows at the end of the
 * attempt: what has that lease still is given back.
 */
export function createAttempts(parts: Parts) {
  const { inFlight, rooms, deliver, release, onEnded, quietly } = parts
  /** The last claim of each delivery that was claimed again. */
  const again = new Map<number, ClaimedDelivery>()

  /** It counts as under way meanwhile, so that no attempt begins that it would take the lease from. */
  const giveBack = async (delivery: ClaimedDelivery): Promise<void> => {
    again.delete(delivery.id)
    let isBack = false
    await inFlight.add(delivery, () =>
      quietly('giving back what was claimed again', async () => {
        await release([delivery])
        isBack = true
      }),
    )
    const later = again.get(delivery.id)
    if (isBack && later) return giveBack(later)
    if (!isBack && !later) again.set(delivery.id, delivery)
  }

  const begin = async (delivery: ClaimedDelivery): Promise<void> => {
    // That it was claimed says that no lease was left of what was claimed before.
    again.delete(delivery.id)
    rooms.began(delivery.destination)
    let hasPlace = true
    const leavePlace = () => {
      hasPlace = false
      onEnded(rooms.ended(delivery.destination))
    }
    await inFlight.add(delivery, (one) =>
      deliver(one, () => {
        if (inFlight.sent(one)) leavePlace()
      }),
    )
    const claimed = again.get(delivery.id)
    if (claimed) void giveBack(claimed)
    if (hasPlace) leavePlace()
  }

  return {
    /** Begins the attempts of what was claimed. */
    begin(claimed: readonly ClaimedDelivery[]): void {
      const held = new Set(inFlight.items().map(({ id }) => id))
      for (const delivery of claimed) {
        if (held.has(delivery.id)) again.set(delivery.id, delivery)
        else void begin(delivery)
      }
    },
    /** Tries again to give back what could not be given back before. */
    giveBackAgain(): void {
      const held = new Set(inFlight.items().map(({ id }) => id))
      for (const delivery of again.values()) if (!held.has(delivery.id)) void giveBack(delivery)
    },
    /** What is under way, and what is to be given back. */
    left: (): ClaimedDelivery[] => [...inFlight.items(), ...again.values()],
  }
}
