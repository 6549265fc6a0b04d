// Runs a command in a transaction: joins an open one, tries again after deadlocks, and sends wake-ups after the
// commit.
import { sql } from 'kysely'
import type { Db, Trx } from '../db/connect.ts'
import { isRetryable, isUnavailable } from '../db/failures.ts'
import type { Wake } from '../db/wake.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import { isRefusal } from '../rules/refusals.ts'
import type { WakeChannel } from '../rules/wire.ts'
import { currentHeldCommit } from './heldCommit.ts'

const TRIES = 3

/** Functions that are called after the commit. */
interface Hooks {
  wake: Wake
  keysRevoked?: (workspaceId: WorkspaceId) => void
}

interface Opening extends Hooks {
  db: Db
}

/** The same deps, with the open transaction as `db`. */
export type InTrx<D> = Omit<D, 'db'> & { db: Trx }

/** Thrown to roll back a transaction whose work returned a refusal; it holds that refusal. */
class RolledBack extends Error {
  readonly refusal: unknown
  constructor(refusal: unknown) {
    super('a command refused')
    this.refusal = refusal
  }
}

/**
 * Runs work in one transaction and sends its wake-ups after the commit. If `deps.db` is already a transaction,
 * work joins it. Only the outermost call commits, sends wake-ups, and tries again after a deadlock (40P01) or a
 * serialization failure (40001), three tries in all; so work must change nothing outside the transaction. A
 * lock that was waited for too long (55P03) is not tried again, because the caller has waited already. A
 * refusal that the outermost work returns rolls back. A joined command must refuse before its first write, or its
 * caller must return the refusal too.
 *
 * Postgres aborts a transaction at its first error, so `work` must not catch a database error and go on. A command
 * that turns such an error into a refusal or tries again (a name that is taken, an `EventIdRace`) does so around
 * the outermost `transact`, and so cannot be called inside another transaction.
 *
 * For a request with an Idempotency-Key the transaction stays open until the answer is stored in it (`once.ts`), and its
 * wake-ups wait for that; such a request may call `transact` once with success.
 *
 * Locks are taken in one order everywhere, so that transactions wait for each other and do not deadlock:
 * 0. the advisory lock of an Idempotency-Key, which is tried, never waited for; after it alone, that of a workspace's webhooks;
 * 1. the advisory lock of an email's tracking, or of a workspace's mail events (nobody waits for the latter);
 * 2. audiences by id, because their counts are written under the audience's lock;
 * 3. contacts by id (the pump, due leaves and groups of events skip contacts that are locked); then contacts of audiences, by address, which
 *    nodes write under the contact's lock, without that of the audience: of its row they take a lock for which only its deletion waits;
 * 4. executions by id, and their waits;
 * 5. deliveries that wait, by id; whoever leaves passes over those that somebody holds, because the claim looks again; then those of
 *    ended mail that an erasure blanks, by id, for which it waits;
 * 6. suppressions;
 * 7. the row of a schedule, also by who holds its workflow and none of these;
 * 8. the advisory lock of a workspace's segments, also under the lock of a workflow or an audience, then the row of a segment, then that of its
 *    fill. A bounce report locks its delivery before it writes the suppression and the mail event, and
 * locks no contact. Opt-outs of a workflow are written under the contact's lock, those of an audience under the
 * audience's. Settling locks deliveries and no contact. A statement on several deliveries locks them by id
 * (`lockedById`, db/deliveries/guards.ts) or passes over locked ones (a claim, extended leases, a settlement, what a drain gives back). The rows of `lanes` are locked alone, and
 * those of `recipient_domains` alone, by name. A claim adds its row of `delivery_claims` after it has locked its deliveries; whoever
 * looks at such rows passes over locked ones, and locks no delivery. A transaction that locks a domain, a template or a workflow takes none of the
 * locks above but the last, and templates after a workflow, by id; so a segment that a paused workflow may hold shares the workflow's lock under that of its contact. A lane
 * that gives out places of a warm-up is the exception: it locks domains by id, then what it has claimed itself.
 */
export async function transact<D extends Opening, T>(
  deps: D,
  work: (deps: InTrx<D>) => Promise<T>,
): Promise<T> {
  if (deps.db.isTransaction) return work(deps as unknown as InTrx<D>)
  const held = currentHeldCommit()
  return withRetries(deps, async (hooks) => {
    const inTrx = async (trx: Trx) => {
      const answer = await work({ ...deps, ...hooks, db: trx })
      if (isRefusal(answer)) throw new RolledBack(answer)
      return answer
    }
    try {
      if (held) return await held.transaction(deps.db, inTrx)
      return await deps.db.transaction().execute((trx) => inTrx(trx as Trx))
    } catch (err) {
      if (err instanceof RolledBack) return err.refusal as T
      throw err
    }
  })
}

/** Like `transact`, for work of one statement, which commits by itself and saves two round trips. */
transact.one = async <D extends Opening, T>(
  deps: D,
  work: (deps: InTrx<D>) => Promise<T>,
): Promise<T> => {
  // The statement and the answer that is stored with it are two.
  if (deps.db.isTransaction || currentHeldCommit()) return transact(deps, work)
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
      // Nothing was written: the transaction was rolled back, and in `transact.one` a refusal comes before the
      // statement.
      if (isRefusal(answer)) return answer
      const tell = () => {
        for (const channel of woken) wake(channel)
        for (const workspaceId of revoked) keysRevoked?.(workspaceId)
      }
      const held = currentHeldCommit()
      if (held) held.afterCommit(tell)
      else tell()
      return answer
    } catch (err) {
      // It may be committed all the same. To wake somebody for nothing does no harm.
      if (isUnavailable(err)) for (const channel of woken) wake(channel)
      if (tries >= TRIES || !isRetryable(err)) throw err
    }
  }
}

/**
 * Runs work in a savepoint: if it fails, its writes are undone and the transaction can go on.
 * @param isLost for which errors it cannot
 * @returns false if it failed
 * @throws errors that mean that the database cannot be reached, and those of `isLost`
 */
export async function inSavepoint(
  trx: Trx,
  work: () => Promise<unknown>,
  isLost: (err: unknown) => boolean = () => false,
): Promise<boolean> {
  await sql`savepoint attempt`.execute(trx)
  try {
    await work()
    await sql`release savepoint attempt`.execute(trx)
    return true
  } catch (err) {
    if (isUnavailable(err) || isLost(err)) throw err
    await sql`rollback to savepoint attempt`.execute(trx)
    return false
  }
}

/** Runs work in a savepoint: if it refuses, its writes are undone and the transaction goes on. */
export async function undoIfRefused<T>(trx: Trx, work: () => Promise<T>): Promise<T> {
  await sql`savepoint refusable`.execute(trx)
  const answer = await work()
  if (isRefusal(answer)) await sql`rollback to savepoint refusable`.execute(trx)
  else await sql`release savepoint refusable`.execute(trx)
  return answer
}
