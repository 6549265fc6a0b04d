// Counts the emails of a day against the limit of their workspace and of the key that sends them: never more than that.
import { isUnavailable } from '../../db/failures.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { currentHeldCommit } from '../heldCommit.ts'
import type { LimitBook } from './book.ts'
import { createDayPlaces, type GivenPlaces } from './dayPlaces.ts'

/** Places that were taken for emails which are accepted now. */
interface TakenPlaces {
  /** Call it when they were surely not accepted: others of this process may have the places. */
  giveBack(): void
}

export interface DailyLimit {
  /** Resolves when the limits that are known are at most two seconds old. */
  fresh(): Promise<void>
  /** Whether the emails of a workspace are limited. */
  isLimited(workspaceId: WorkspaceId): boolean
  /** Takes places of today for emails of a request, all or none of them. @param keyId null: no key asks */
  take(
    workspaceId: WorkspaceId,
    keyId: string | null,
    emails: number,
  ): Promise<TakenPlaces | Refusal<'daily_limit'>>
  /** Takes up to so many places of the workspace's day. @returns how many */
  takeUpTo(workspaceId: WorkspaceId, emails: number): Promise<number>
}

/**
 * Makes the count of a process.
 * @param deps `db`: the database itself, no transaction of a caller
 */
export function createDailyLimit(
  deps: Pick<CommandDeps, 'db' | 'now'>,
  book: LimitBook,
): DailyLimit {
  const takePlaces = createDayPlaces(deps)
  const limitOf = (subject: string) => book.of(subject)?.emails_per_day ?? null

  return {
    fresh: book.fresh,
    isLimited: (workspaceId) => limitOf(workspaceId) !== null,
    async takeUpTo(workspaceId, wanted) {
      const limit = limitOf(workspaceId)
      if (limit === null) return wanted
      return (await takePlaces(workspaceId, { subject: workspaceId, limit, wanted, all: false }))
        .count
    },
    async take(workspaceId, keyId, wanted) {
      await book.fresh()
      const given: GivenPlaces[] = []
      const giveBack = () => {
        for (const one of given.splice(0)) one.giveBack()
      }
      // The key first: what a request gives back stays with this process, and the workspace's places are those of more senders.
      for (const subject of keyId === null ? [workspaceId] : [keyId, workspaceId]) {
        const limit = limitOf(subject)
        if (limit === null) continue
        const places = await takePlaces(workspaceId, { subject, limit, wanted, all: true }).catch(
          (err: unknown) => {
            giveBack()
            throw err
          },
        )
        given.push(places)
        if (places.count === wanted) continue
        giveBack()
        const retry_after_s = secondsLeft(deps.now())
        return refuse('daily_limit', { limit, ofKey: subject === keyId, wanted, retry_after_s })
      }
      return { giveBack }
    },
  }
}

/**
 * Commits emails if their places of the day are free.
 * @param commit writes all of them or none
 * @returns undefined: they are committed
 */
export async function withDayPlaces(
  { daily }: { daily: DailyLimit },
  workspaceId: WorkspaceId,
  keyId: string | null,
  emails: number,
  commit: () => Promise<void>,
): Promise<Refusal<'daily_limit'> | undefined> {
  const places = await daily.take(workspaceId, keyId, emails)
  if (isRefusal(places)) return places
  try {
    await commit()
  } catch (err) {
    // It may be committed all the same.
    if (!isUnavailable(err)) places.giveBack()
    throw err
  }
  // The commit that a request holds back until its answer is stored may still fail.
  currentHeldCommit()?.afterRollback(places.giveBack)
  return undefined
}

const DAY_MS = 24 * 60 * 60 * 1000

/** Until the next day (UTC) begins. */
const secondsLeft = (at: Date): number => Math.ceil((DAY_MS - (at.getTime() % DAY_MS)) / 1000)
