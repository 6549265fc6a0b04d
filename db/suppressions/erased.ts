// Suppressions of people who were erased: the address is there as its HMAC alone, as in opt_outs.
import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'
import { live } from './reads.ts'

type ErasedSuppression = Omit<Row<'erased_suppressions'>, 'workspace_id'>

/** Which of two suppressions of an address lasts: the longer one, and of those a complaint. `s` is the stored one. */
const keepStronger = sql`on conflict (workspace_id, address_hmac) do update set
      reason = excluded.reason, source_id = excluded.source_id, expires_at = excluded.expires_at
    where (s.expires_at is not null and (excluded.expires_at is null or excluded.expires_at > s.expires_at))
      or (s.reason <> 'complaint' and excluded.reason = 'complaint'
        and excluded.expires_at is not distinct from s.expires_at)`

/** A condition on the relation that has those columns: some erased suppression holds at that time. @param hmac null: none does */
export const isErasedSuppressed = (
  workspaceId: RawBuilder<unknown>,
  hmac: RawBuilder<unknown>,
  now: RawBuilder<unknown>,
): RawBuilder<boolean> => sql<boolean>`exists (select from erased_suppressions g
        where g.workspace_id = ${workspaceId} and g.address_hmac = ${hmac}
          and (g.expires_at is null or g.expires_at > ${now}) offset 0)`

/** Suppresses an erased address. A stored suppression is replaced only by a stronger one. */
export async function suppressErased(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: ErasedSuppression,
): Promise<void> {
  await sql`
    insert into erased_suppressions as s (workspace_id, address_hmac, reason, source_id, created_at, expires_at)
    values (${workspaceId}, ${row.address_hmac}, ${row.reason}, ${row.source_id}, ${row.created_at}::timestamptz,
      ${row.expires_at}::timestamptz)
    ${keepStronger}
  `.execute(trx)
}

/** The suppression of an erased address that holds now. */
export function findErasedSuppression(
  db: Db,
  workspaceId: WorkspaceId,
  hmac: Buffer,
  now: Date,
): Promise<ErasedSuppression | undefined> {
  return db
    .selectFrom('erased_suppressions')
    .select(['address_hmac', 'reason', 'source_id', 'created_at', 'expires_at'])
    .where('workspace_id', '=', workspaceId)
    .where('address_hmac', '=', hmac)
    .where(live(now))
    .executeTakeFirst()
}

/** @returns whether one held */
export async function deleteErasedSuppression(
  trx: Trx,
  workspaceId: WorkspaceId,
  hmac: Buffer,
  now: Date,
): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    delete from erased_suppressions where workspace_id = ${workspaceId} and address_hmac = ${hmac}
    returning ${live(now)} as held
  `.execute(trx)
  return rows[0]?.held ?? false
}

/** Keeps the suppression of an address (lower case) by its HMAC alone, and forgets its soft bounces. Webhooks are told nothing. */
export async function eraseSuppression(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, hmac }: { email: string; hmac: Buffer },
): Promise<void> {
  await sql`
    delete from soft_bounces where workspace_id = ${workspaceId} and email = ${email}
  `.execute(trx)
  // A name without `@` first: of a row that has one webhooks are told nothing when it goes (migration 44).
  const nameless = sql<{ email: string }>`
    update suppressions set email = 'erased-' || gen_random_uuid()
    where workspace_id = ${workspaceId} and email = ${email} returning email`
  const [row] = (await nameless.execute(trx)).rows
  if (!row) return
  await sql`
    with gone as (
      delete from suppressions where workspace_id = ${workspaceId} and email = ${row.email}
      returning reason, source_id, created_at, expires_at
    )
    insert into erased_suppressions as s (workspace_id, address_hmac, reason, source_id, created_at, expires_at)
    select ${workspaceId}, ${hmac}, reason, source_id, created_at, expires_at from gone
    ${keepStronger}
  `.execute(trx)
}
