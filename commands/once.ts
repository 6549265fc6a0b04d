// Does a request that names itself once: its answer is stored in the transaction that does it, and given again to whoever
// repeats the request.

import type { Db, Trx } from '../db/connect.ts'
import { findKeptAnswer, type KeptAnswer } from '../db/idempotency-keys/reads.ts'
import { insertKeptAnswer, tryLockIdempotencyKey } from '../db/idempotency-keys/writes.ts'
import { currentScope, inScope } from '../db/scope.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import type { CommandDeps } from './deps.ts'
import { type HeldCommit, holdCommit } from './heldCommit.ts'

/** A request as it names itself. */
export interface NamedRequest {
  workspaceId: WorkspaceId
  /** A hash of its key and of what that key is unique within. */
  keyHash: Buffer
  /** A hash of its content: whoever repeats it sends the same. */
  fingerprint: Buffer
}

/** What the request was answered with. Only what succeeded (2xx) is kept; else `body` is not read. */
type Answer = Pick<KeptAnswer, 'status' | 'body'>

const NOT_KEPT: Answer = { status: 409, body: '' }

/**
 * `done`: the work was done now, and its answer stands. `replayed`: it was done before, and this was the answer. `reused`: the
 * key was used for another request. `in_progress`: somebody does it at this moment.
 */
export type Outcome =
  | { kind: 'done' | 'reused' | 'in_progress' }
  | { kind: 'replayed'; answer: Answer }

/** Ends the work of a request whose key somebody else has used or holds. The caller of `once` learns of it by the outcome. */
export class KeyTaken extends Error {
  /** The answer that is kept; null while somebody does the work. */
  readonly kept: KeptAnswer | null
  constructor(kept: KeptAnswer | null) {
    super('the Idempotency-Key of the request is taken')
    this.kept = kept
  }
}

/**
 * Does the work of a request unless it was done within the last 24 hours. The transaction of its command (`transact`) takes the
 * lock of the key, which it tries and never waits for, looks for an answer, and stays open until the answer is stored in it.
 * So a crash leaves both or neither. Work that fails or refuses leaves the key free.
 * @param work answers the request; what it throws is thrown, but for the `KeyTaken` of this request
 */
export async function once(
  { db }: Pick<CommandDeps, 'db'>,
  request: NamedRequest,
  work: () => Promise<Answer>,
): Promise<Outcome> {
  const { workspaceId, keyHash, fingerprint } = request
  const find = (from: Db): Promise<KeptAnswer | undefined> =>
    findKeptAnswer(from, workspaceId, keyHash)
  const early = await find(db)
  if (early) return outcomeOf(early, fingerprint)

  let taken: KeyTaken | undefined
  const check = async (trx: Trx) => {
    const isFree = await tryLockIdempotencyKey(trx, workspaceId, keyHash)
    // A statement of its own, so that it sees what was committed before the lock was free.
    const kept = isFree ? await find(trx) : null
    if (kept === undefined) return
    taken = new KeyTaken(kept)
    throw taken
  }
  const takenNow = () => taken
  return inScope(currentScope(), async () => {
    const held = holdCommit(check)
    const answer = await work().catch(async (err: unknown) => {
      await held.drop()
      if (err === takenNow()) return NOT_KEPT
      throw err
    })
    const before = takenNow()
    if (before) {
      await held.drop()
      return outcomeOf(before.kept, fingerprint)
    }
    if (answer.status < 300) {
      const row = { keyHash, fingerprint, ...answer }
      await keep(held, db, (trx) => insertKeptAnswer(trx, workspaceId, row)).catch((err) => {
        if (err !== takenNow()) throw err
      })
      const after = takenNow()
      return after ? outcomeOf(after.kept, fingerprint) : { kind: 'done' }
    }
    await held.drop()
    // It may have been refused for what the same request has done meanwhile, such as making what it wants to make.
    const late = answer.status < 500 ? await find(db) : undefined
    return late ? outcomeOf(late, fingerprint) : { kind: 'done' }
  })
}

/** Stores the answer and commits. @throws what the database throws; all is rolled back then */
async function keep(
  held: HeldCommit,
  db: Db,
  insert: (trx: Trx) => Promise<boolean>,
): Promise<void> {
  await held.commit(db, async (trx) => {
    if (!(await insert(trx))) throw new Error('an answer is kept under a key whose lock was free')
  })
}

function outcomeOf(kept: KeptAnswer | null, fingerprint: Buffer): Outcome {
  if (!kept) return { kind: 'in_progress' }
  if (!kept.fingerprint.equals(fingerprint)) return { kind: 'reused' }
  return { kind: 'replayed', answer: kept }
}
