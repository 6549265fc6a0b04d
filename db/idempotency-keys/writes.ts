// Locks the keys of requests, and keeps their answers.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { keptSince } from './reads.ts'

/** Takes the lock of a key until the transaction ends. @returns false if another transaction holds it */
export async function tryLockIdempotencyKey(
  trx: Trx,
  workspaceId: WorkspaceId,
  keyHash: Buffer,
): Promise<boolean> {
  const name = `idempotency:${workspaceId}:${keyHash.toString('hex')}`
  const { rows } = await sql<{ ours: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as ours
  `.execute(trx)
  return rows[0]?.ours ?? false
}

interface NewAnswer {
  keyHash: Buffer
  fingerprint: Buffer
  status: number
  body: string
}

/**
 * Keeps an answer, in the place of one that is too old. When it was kept says Postgres, whose clock an erasure reads too: by that of a process it could be
 * one of later. The caller holds the lock of its key. @returns false if one is kept already
 */
export async function insertKeptAnswer(
  trx: Trx,
  workspaceId: WorkspaceId,
  { keyHash, fingerprint, status, body }: NewAnswer,
): Promise<boolean> {
  const kept = { fingerprint, status, body, created_at: sql<Date>`clock_timestamp()` }
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('idempotency_keys')
    .values({ workspace_id: workspaceId, key_hash: keyHash, ...kept })
    .onConflict((oc) =>
      oc
        .columns(['workspace_id', 'key_hash'])
        .doUpdateSet(kept)
        .where('idempotency_keys.created_at', '<=', keptSince),
    )
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}
