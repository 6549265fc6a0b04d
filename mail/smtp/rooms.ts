// The rooms of all destinations, kept while they change, so that asking for them costs nothing.
import type { Rooms } from '../transport.ts'

interface Roomy {
  room(): number
  /** When its rest ends, ms; in the past if it does not rest. */
  restsUntil(): number
}

/** The most destinations that are named. Those without room come first: only these are claimed in vain. */
export const ROOMS_MAX = 2_000
/** A destination that has no room although it does not rest is looked at after this time. */
const AGAIN_MS = 1_000

/**
 * Makes the rooms.
 * @param other the room of a destination that is not named
 * @param max the most names
 */
export function createRooms(other: number, now: () => number, max: number = ROOMS_MAX) {
  const known = new Map<string, number>()
  /** The named ones that have room. */
  const open = new Set<string>()
  /** Those without room, and when they are looked at again, ms. */
  const resting = new Map<string, { destination: Roomy; at: number }>()
  let endsAt = Number.POSITIVE_INFINITY

  function forget(key: string): void {
    known.delete(key)
    open.delete(key)
    resting.delete(key)
  }

  function update(key: string, destination: Roomy): void {
    const room = destination.room()
    const until = destination.restsUntil()
    if (!known.has(key) && known.size >= max) {
      const [spare] = open
      if (room > 0 || spare === undefined) return
      forget(spare)
    }
    known.set(key, room)
    if (room > 0) open.add(key)
    else open.delete(key)
    // Without room it is looked at again until it has some, whatever it says of itself in the meantime.
    if (room === 0) {
      const at = until > now() ? until : now() + AGAIN_MS
      resting.set(key, { destination, at })
      endsAt = Math.min(endsAt, at)
    } else resting.delete(key)
  }

  /** Looks at those that may have room again. */
  function wakeUp(): void {
    endsAt = Number.POSITIVE_INFINITY
    for (const [key, { destination, at }] of [...resting]) {
      if (at <= now()) update(key, destination)
      else endsAt = Math.min(endsAt, at)
    }
  }

  return {
    /** To be called when the room of a destination may have changed. */
    update,
    forget,
    /** The rooms of this moment; the map goes on changing. */
    now(): Rooms {
      if (endsAt <= now()) wakeUp()
      return { known, other }
    },
  }
}
