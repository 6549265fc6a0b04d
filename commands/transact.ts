// Opens the transaction of a command: joined when there is one, tried again when Postgres says so, wake-ups after the commit.
import type { Db, Trx } from '../db/connect.ts'
import { isRetryable } from '../db/failures.ts'
import type { Wake } from '../db/wake.ts'
import { isRefusal } from '../rules/refusals.ts'
import type { WakeChannel } from '../rules/wire.ts'

const TRIES = 3

interface Opening {
  db: Db
  wake: Wake
}

/** The same deps with the open transaction for a database. */
export type InTrx<D> = Omit<D, 'db'> & { db: Trx }

/** Carries the outcome of work that refused through the rollback. */
class RolledBack extends Error {
  readonly refusal: unknown
  constructor(refusal: unknown) {
    super('a command refused')
    this.refusal = refusal
  }
}

/**
 * Runs work in one transaction and fires its wake-ups after the commit. Where `deps.db` is a transaction already, work
 * joins it, and only the outermost call commits, tries a deadlock (40P01) or a serialization failure (40001) again, up
 * to three times in all, and wakes; so work may touch nothing but the transaction. A refusal that the outermost work
 * returns rolls back; one that a joined command returns was to come before its first write, or is to be passed on.
 */
export async function transact<D extends Opening, T>(
  deps: D,
  work: (deps: InTrx<D>) => Promise<T>,
): Promise<T> {
  if (deps.db.isTransaction) return work(deps as unknown as InTrx<D>)
  return withRetries(deps, (wake) =>
    deps.db
      .transaction()
      .execute(async (trx) => {
        const answer = await work({ ...deps, db: trx as Trx, wake })
        if (isRefusal(answer)) throw new RolledBack(answer)
        return answer
      })
      .catch((err: unknown) => {
        if (err instanceof RolledBack) return err.refusal as T
        throw err
      }),
  )
}

/** The same for work that is one statement, which commits by itself: two round trips fewer. */
transact.one = async <D extends Opening, T>(
  deps: D,
  work: (deps: InTrx<D>) => Promise<T>,
): Promise<T> => {
  if (deps.db.isTransaction) return work(deps as unknown as InTrx<D>)
  return withRetries(deps, (wake) => work({ ...deps, db: deps.db as unknown as Trx, wake }))
}

async function withRetries<T>(deps: Opening, run: (wake: Wake) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const woken = new Set<WakeChannel>()
    try {
      const answer = await run((channel) => void woken.add(channel))
      // A refusal has written nothing.
      if (!isRefusal(answer)) for (const channel of woken) deps.wake(channel)
      return answer
    } catch (err) {
      if (tries >= TRIES || !isRetryable(err)) throw err
    }
  }
}
