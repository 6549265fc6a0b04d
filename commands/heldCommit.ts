// Holds the commit of a request back until its answer is there to be stored with it.

import type { Db, Trx } from '../db/connect.ts'
import { isUnavailable } from '../db/failures.ts'
import { currentScope, type Running } from '../db/scope.ts'

/** Rolls a transaction back whose answer is not to be kept. */
class Dropped extends Error {}

/** The one transaction of a request. */
export interface HeldCommit {
  /**
   * Begins a transaction and does its work. If that succeeds, the transaction stays open until `commit` or `drop`, and
   * what the scope reads meanwhile it reads in it.
   * @throws Error for a second one after a first that succeeded: the two would be one commit, which neither expects
   */
  transaction<T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T>
  /** Has something done after the commit, and not if it fails; also where nobody knows whether it did. */
  afterCommit(work: () => void): void
  /** Has something done when the transaction was surely rolled back. */
  afterRollback(work: () => void): void
  /** Does the last thing in the transaction, and commits. Where the request has none, `last` is all that it holds. */
  commit(db: Db, last: (trx: Trx) => Promise<void>): Promise<void>
  /** Rolls back. */
  drop(): Promise<void>
}

const ofScopes = new WeakMap<Running, HeldCommit>()

/** The one that the code that asks runs under; undefined if its transactions commit by themselves. */
export const currentHeldCommit = (): HeldCommit | undefined => ofScopes.get(currentScope())

interface Open {
  /** Ends what the transaction waits for. */
  decide(last: (trx: Trx) => Promise<void>): void
  drop(): void
  ended: Promise<unknown>
}

/**
 * Makes that of the current scope.
 * @param check is done first in each transaction, and may throw
 */
export function holdCommit(check: (trx: Trx) => Promise<void>): HeldCommit {
  const scope = currentScope()
  let open: Open | null = null
  const afterwards: (() => void)[] = []
  const undoing: (() => void)[] = []
  const tell = () => {
    for (const work of afterwards.splice(0)) work()
  }
  const undo = () => {
    for (const work of undoing.splice(0)) work()
  }
  const begin = async <T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> => {
    if (open) throw new Error('a request with an Idempotency-Key commits once')
    const begun = beginHeld(db, async (trx) => {
      await check(trx)
      return work(trx)
    })
    const value = await begun.worked
    open = begun
    scope.answering = true
    return value
  }
  const held: HeldCommit = {
    transaction: begin,
    afterCommit: (work) => void afterwards.push(work),
    afterRollback: (work) => void undoing.push(work),
    async commit(db, last) {
      if (!open) await begin(db, async () => undefined)
      scope.answering = false
      open?.decide(last)
      try {
        await open?.ended
      } catch (err) {
        if (isUnavailable(err)) tell()
        else undo()
        throw err
      }
      tell()
    },
    async drop() {
      scope.answering = false
      open?.drop()
      await open?.ended.catch(() => undefined)
      undo()
    },
  }
  ofScopes.set(scope, held)
  return held
}

/** Begins a transaction that waits, after its work, for what comes last. */
function beginHeld<T>(
  db: Db,
  work: (trx: Trx) => Promise<T>,
): Open & {
  /** What the work gives, while the transaction is open; rejects when it has been rolled back. */
  worked: Promise<T>
} {
  let decide: Open['decide'] = () => undefined
  let drop: Open['drop'] = () => undefined
  const decided = new Promise<(trx: Trx) => Promise<void>>((resolve, reject) => {
    decide = resolve
    drop = () => reject(new Dropped('the answer is not kept'))
  })
  let ended: Promise<unknown> = Promise.resolve()
  const worked = new Promise<T>((resolve, reject) => {
    ended = db.transaction().execute(async (trx) => {
      resolve(await work(trx as Trx))
      const last = await decided
      await last(trx as Trx)
    })
    ended.catch(reject)
  })
  return { decide, drop, ended, worked }
}
