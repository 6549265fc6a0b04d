// Reads how many delivery lanes there should be.
import type { Db } from '../connect.ts'

export interface LaneCount {
  /**
   * The count for which the first lane has its owner. There is that lane whatever the count, so who starts last tells it theirs; a lane beyond may take its
   * shards later, by an older count.
   */
  lanes: number
  /** Whether a lane of another count has, or had lately, an owner: then lanes may take shards from each other. */
  isDisputed: boolean
}

/** @returns undefined if the first lane never had an owner */
export async function findLaneCount(db: Db, now: Date): Promise<LaneCount | undefined> {
  const owned = await db.selectFrom('lanes').select(['lane', 'lanes', 'until']).execute()
  const first = owned.find(({ lane }) => lane === 0)
  if (!first) return undefined
  const { lanes } = first
  return { lanes, isDisputed: owned.some((lane) => lane.lanes !== lanes && lane.until > now) }
}
