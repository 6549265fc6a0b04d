// The claims of a lane: what it finds it remembers in lines, picks from them, and claims by ids.
import { type Claim, type ClaimedDelivery, claimDeliveries } from '../../db/deliveries/claim.ts'
import type { InLine } from '../../db/deliveries/lines.ts'
import type { Rooms } from '../../mail/transport.ts'
import { createFinding, type FindingDeps } from './finding.ts'
import type { Line } from './line.ts'
import { Lines } from './lines.ts'
import { pickForClaim } from './picking.ts'

/** What one claim of up to `limit` deliveries asks. */
export interface ClaimAsked extends Omit<Claim, 'ids' | 'shards'> {
  limit: number
  rooms: Rooms
}

export interface LaneClaim {
  /** What may be sent. */
  deliveries: ClaimedDelivery[]
  /** How many were claimed, also what was settled or put off. */
  count: number
  /** Destinations that have no room for more, and for which more may wait. */
  full: string[]
  /** Whether the next claim may find more. */
  more: boolean
}

export type Claims = ReturnType<typeof createClaims>

/** After so many claims in a row that got nothing the lane rests, although the next one may find some. */
const BARREN_MAX = 10

/** Makes the claims of a lane, which has to call one after the other. */
export function createClaims(deps: Omit<FindingDeps, 'lines'>) {
  const lines = new Lines()
  const finding = createFinding({ ...deps, lines })
  let barren = 0
  /** What the claim before has begun to read for this one. */
  let reading: Promise<void> = Promise.resolve()
  /** Whether to claim again at once. What others have locked, or what is read in vain, must not be asked for again and again. */
  const goesOn = (count: number, more: boolean) => {
    barren = count > 0 ? 0 : barren + 1
    if (barren < BARREN_MAX) return more
    barren = 0
    return false
  }

  /** Reads for the next claim while this one is written. If that fails, the next one reads them again. */
  const readAhead = async (toRead: readonly Line[]): Promise<void> => {
    if (toRead.length > 0) await deps.quietly('reading its lines', () => finding.readMore(toRead))
  }

  return {
    /** Learns of deliveries that were made ready. */
    add: (rows: readonly InLine[]) => lines.add(rows),
    /** To be called when some may have been made ready of which nobody told. */
    searchSoon: finding.searchSoon,
    /** For tests and benchmarks: finds all that waits before the first claim, which else begins while some of it is not found yet. */
    begin: finding.begin,
    async claim({ limit, rooms, ...asked }: ClaimAsked): Promise<LaneClaim> {
      await finding.look()
      await reading
      const now = asked.now.getTime()
      const { rows, full, more, ahead } = await pickForClaim(lines, finding.readMore, {
        limit,
        rooms,
        now,
      })
      // Where places of lines were given up, others take them now.
      finding.search()
      if (rows.length === 0) return { deliveries: [], count: 0, full, more: goesOn(0, more) }
      const ids = rows.map(({ id }) => id)
      reading = readAhead(ahead)
      let taken = new Set<number>()
      try {
        const claimed = await deps.run((db) =>
          claimDeliveries(db, { ...asked, ids, shards: deps.shards }),
        )
        taken = claimed.taken
        const { deliveries } = claimed
        return { deliveries, count: taken.size, full, more: goesOn(taken.size, more) }
      } finally {
        if (taken.size < ids.length) lines.reread(rows.filter(({ id }) => !taken.has(id)))
      }
    },
  }
}
