// Opens the transaction of a command: joined when there is one, tried again when Postgres says so, wake-ups after the commit.
import { sql } from 'kysely'
import type { Db, Trx } from '../db/connect.ts'
import { isRetryable, isUnavailable } from '../db/failures.ts'
import type { Wake } from '../db/wake.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import { isRefusal } from '../rules/refusals.ts'
import type { WakeChannel } from '../rules/wire.ts'

const TRIES = 3

/** What hears of work when it has committed. */
interface Hooks {
  wake: Wake
  keysRevoked?: (workspaceId: WorkspaceId) => void
}

interface Opening extends Hooks {
  db: Db
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
 *
 * Since Postgres aborts a transaction at its first error, nothing inside `work` may catch an error of the database and go
 * on. Who answers such an error or tries again (a name that is taken, an `EventIdRace`) does so around the outermost
 * `transact`, and so cannot be called inside another transaction.
 *
 * Locks are taken in one order everywhere, so that transactions wait for each other and do not deadlock:
 * 1. the advisory lock of an email's tracking, or of a workspace's mail events (which is tried, and not waited for);
 * 2. audiences by id: they come before contacts for as long as their counts are written under their own lock;
 * 3. contacts by id; the pump passes over one that is held;
 * 4. executions by id, and their waits;
 * 5. suppressions.
 * The delivery of a bounce is locked before its suppression and mail event are written, and no contact with it; settling
 * locks deliveries and no contact. Who locks a domain, a template or a workflow takes none of the locks above.
 */
export async function transact<D extends Opening, T>(
  deps: D,
  work: (deps: InTrx<D>) => Promise<T>,
): Promise<T> {
  if (deps.db.isTransaction) return work(deps as unknown as InTrx<D>)
  return withRetries(deps, (hooks) =>
    deps.db
      .transaction()
      .execute(async (trx) => {
        const answer = await work({ ...deps, ...hooks, db: trx as Trx })
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
  return withRetries(deps, (hooks) => work({ ...deps, ...hooks, db: deps.db as unknown as Trx }))
}

async function withRetries<T>(deps: Opening, run: (hooks: Hooks) => Promise<T>): Promise<T> {
  const { wake, keysRevoked } = deps
  for (let tries = 1; ; tries++) {
    const woken = new Set<WakeChannel>()
    const revoked = new Set<WorkspaceId>()
    const hooks: Hooks = { wake: (channel) => void woken.add(channel) }
    if (keysRevoked) hooks.keysRevoked = (workspaceId) => void revoked.add(workspaceId)
    try {
      const answer = await run(hooks)
      // It was rolled back; in `transact.one` it comes before the statement. Nobody is woken.
      if (isRefusal(answer)) return answer
      for (const channel of woken) wake(channel)
      for (const workspaceId of revoked) keysRevoked?.(workspaceId)
      return answer
    } catch (err) {
      if (tries >= TRIES || !isRetryable(err)) throw err
    }
  }
}

/**
 * Runs work whose failure the transaction survives: what it wrote is undone then.
 * @returns false when it failed
 * @throws what says that the database cannot be reached
 */
export async function inSavepoint(trx: Trx, work: () => Promise<unknown>): Promise<boolean> {
  await sql`savepoint attempt`.execute(trx)
  try {
    await work()
    await sql`release savepoint attempt`.execute(trx)
    return true
  } catch (err) {
    if (isUnavailable(err)) throw err
    await sql`rollback to savepoint attempt`.execute(trx)
    return false
  }
}
