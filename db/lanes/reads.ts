// Reads how many delivery lanes there should be.
import type { Db } from '../connect.ts'

export interface LaneCount {
  /** The count for which the newest owner took its lane. */
  lanes: number
  /** Whether a lane of another count has, or had lately, an owner: then lanes may take shards from each other. */
  isDisputed: boolean
}

/** @returns undefined if no lane ever had an owner */
export async function findLaneCount(db: Db, now: Date): Promise<LaneCount | undefined> {
  const owned = await db
    .selectFrom('lanes')
    .select(['lanes', 'until'])
    .orderBy('epoch', 'desc')
    .execute()
  const [newest] = owned
  if (!newest) return undefined
  const { lanes } = newest
  return { lanes, isDisputed: owned.some((lane) => lane.lanes !== lanes && lane.until > now) }
}
