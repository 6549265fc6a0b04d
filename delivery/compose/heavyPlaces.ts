// How much mail with attachments or long bodies may be under way at once, for each workspace and each destination.

export interface HeavyLimits {
  workspaceMax: number
  destinationMax: number
}

const LIMITS: HeavyLimits = { workspaceMax: 50, destinationMax: 10 }

/** There is no place for one more: the mail comes back later, and meanwhile takes none of the lane's places. */
export class NoHeavyPlace extends Error {}

/** A destination that has places taken. */
interface Destination {
  /** The workspace that asked first since no place was taken. */
  first: string
  /** Whether another one has asked since. */
  isShared: boolean
}

/**
 * Makes a function that takes a place, and gives one back. The only workspace that asks for a destination may take all
 * its places. From when another one asks until none is taken, each may hold as many as are then still free: half for the
 * first, so that others never wait for one workspace alone.
 */
export function createHeavyPlaces({ workspaceMax, destinationMax }: HeavyLimits = LIMITS) {
  const taken = new Map<string, number>()
  const destinations = new Map<string, Destination>()
  const count = (key: string) => taken.get(key) ?? 0
  const change = (key: string, by: number) => {
    const changed = count(key) + by
    if (changed > 0) taken.set(key, changed)
    else taken.delete(key)
    return changed
  }

  /** @returns gives the place back @throws NoHeavyPlace */
  return (workspaceId: string, destination: string): (() => void) => {
    const all = `destination ${destination}`
    const here = `${workspaceId} at ${destination}`
    const keys = [`workspace ${workspaceId}`, here]
    const asked = destinations.get(destination)
    if (asked && asked.first !== workspaceId) asked.isShared = true
    const free = destinationMax - count(all)
    const isPastShare = asked?.isShared && count(here) >= free
    if (count(`workspace ${workspaceId}`) >= workspaceMax || free <= 0 || isPastShare) {
      throw new NoHeavyPlace('too much mail with attachments is under way already')
    }
    if (!asked) destinations.set(destination, { first: workspaceId, isShared: false })
    for (const key of [...keys, all]) change(key, 1)
    return () => {
      for (const key of keys) change(key, -1)
      if (change(all, -1) === 0) destinations.delete(destination)
    }
  }
}
