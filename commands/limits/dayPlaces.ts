// Places of a day for emails, which this process takes from Postgres in blocks and gives out from memory.
import { takeDayPlaces } from '../../db/limits/writes.ts'
import { inScope, ofProcess } from '../../db/scope.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { dayOf } from '../../rules/mail/warmUp.ts'
import type { CommandDeps } from '../deps.ts'

/** What this process has of a subject's day. */
interface Pool {
  day: string
  left: number
  /** Under which `left` was given. */
  limit: number
  /** Rises when what was given out counts for nothing any more. */
  generation: number
  /** At a limit the day had fewer left than so many: as many or more are not asked for again, since it never has more. */
  short: { limit: number; wanted: number } | null
  /** The last one who asked Postgres; others wait for them. */
  last: Promise<unknown>
}

/** Places that were given out. */
export interface GivenPlaces {
  count: number
  /** Call it when they were surely not used: others of this process may have them. */
  giveBack(): void
}

interface DayPlacesAsked {
  /** The id of a workspace or key. */
  subject: string
  /** Of its day. */
  limit: number
  wanted: number
  /** Whether fewer than are wanted are of no use: then Postgres gives none where it has fewer, so that others have them. */
  all: boolean
}

const newPool = (day: string): Pool => ({
  day,
  left: 0,
  limit: 0,
  generation: 0,
  short: null,
  last: Promise.resolve(),
})

/** What was given under a larger limit counts for nothing: an operator may have lowered it to stop somebody. */
function obey(pool: Pool, limit: number): void {
  if (limit < pool.limit) {
    pool.left = 0
    pool.generation += 1
  }
  pool.limit = limit
}

/** Takes up to so many of what is there. */
function grab(pool: Pool, wanted: number): GivenPlaces {
  const count = Math.min(wanted, pool.left)
  pool.left -= count
  const { generation } = pool
  let isGiven = true
  const giveBack = () => {
    if (isGiven && pool.generation === generation) pool.left += count
    isGiven = false
  }
  return { count, giveBack }
}

/**
 * Makes a function that gives out up to as many places of today as are wanted. What a process has left of a block when it
 * ends is lost for that day: so there are never more than the limit, and up to a hundredth fewer for each process.
 * @param deps `db`: the database itself, no transaction of a caller
 */
export function createDayPlaces({ db, now }: Pick<CommandDeps, 'db' | 'now'>) {
  const pools = new Map<string, Pool>()

  const poolOf = (subject: string): Pool => {
    const day = dayOf(now().getTime())
    const known = pools.get(subject)
    if (known?.day === day) return known
    const pool = newPool(day)
    pools.set(subject, pool)
    return pool
  }

  /** Others, who find enough, take from the pool while Postgres is asked: so it may be asked again. */
  async function fill(pool: Pool, workspaceId: WorkspaceId, asked: DayPlacesAsked) {
    const { subject, limit, wanted, all } = asked
    obey(pool, limit)
    while (pool.left < wanted) {
      const { generation, short } = pool
      const ask = { subject, day: pool.day, limit, wanted: wanted - pool.left, all }
      const least = all ? ask.wanted : 1
      if (short?.limit === limit && least >= short.wanted) return
      const granted = await inScope(ofProcess, () => takeDayPlaces(db, workspaceId, ask))
      if (pool.generation !== generation) return
      pool.left += granted
      // Of fewer than are wanted all were given, so that none is left; or none, where all are wanted.
      if (granted < ask.wanted) pool.short = { limit, wanted: least }
    }
  }

  return async (workspaceId: WorkspaceId, asked: DayPlacesAsked): Promise<GivenPlaces> => {
    const pool = poolOf(asked.subject)
    obey(pool, asked.limit)
    if (pool.left >= asked.wanted) return grab(pool, asked.wanted)
    const turn = pool.last
      .then(() => fill(pool, workspaceId, asked))
      .then(() => grab(pool, asked.all && pool.left < asked.wanted ? 0 : asked.wanted))
    pool.last = turn.catch(() => undefined)
    return turn
  }
}
