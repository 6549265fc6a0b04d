// Reads for operators what the outbox holds for Temporal, and what of it Temporal has refused.
import { sql } from 'kysely'
import type { OutboxKind } from '../rules/wire.ts'
import type { Db } from './connect.ts'
import { forTemporal, linesOrder, ofLines } from './outbox.ts'

export interface RefusedRow {
  kind: OutboxKind
  /** Of `domain_start` and `domain_check` the domain's id, of `schedule` those of workflow and node. */
  execution_id: string
  workspace_id: string
  /** Name of Temporal's last answer; null for a row that the release before has put off. */
  refusal: string | null
  attempts: number
  created_at: Date
  next_at: Date
}

/** Rows that Temporal has refused, in all workspaces, oldest first. */
export async function listRefused(db: Db, limit: number): Promise<RefusedRow[]> {
  const { rows } = await sql<RefusedRow>`
    select kind, execution_id, workspace_id, refusal, attempts, created_at, next_at from outbox
    where ${forTemporal} and attempts > 0
    order by created_at, id limit ${limit}
  `.execute(db)
  return rows
}

interface RefusedSummary {
  count: number
  /** null: there is none. */
  oldest_at: Date | null
}

/** How many rows Temporal has refused, and when the oldest of them was written. */
export async function findRefusedSummary(db: Db): Promise<RefusedSummary> {
  // By the first part of the index `outbox_lines`, which has no other rows.
  const { rows } = await sql<RefusedSummary>`
    select count(*)::int as count, min(created_at) as oldest_at from outbox
    where ${ofLines(true)} and ${forTemporal}
  `.execute(db)
  return rows[0] ?? { count: 0, oldest_at: null }
}

const WAITING_LOOKED = 1_000

/**
 * When the oldest row was written that waits for Temporal and was not refused, also behind one that was; null: there is none. While
 * Temporal is away very many wait: of those the first of the index `outbox_lines` are looked at, of which some have waited for as long.
 */
export async function findOldestWaiting(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ created_at: Date | null }>`
    select min(created_at) as created_at from (
      select created_at from outbox where ${ofLines(false)} and ${forTemporal}
      order by ${linesOrder} limit ${WAITING_LOOKED}
    ) first
  `.execute(db)
  return rows[0]?.created_at ?? null
}

export interface WaitingKind {
  kind: OutboxKind
  count: number
  oldest_at: Date
}

/** How many rows of each kind wait for Temporal, those that it has refused among them. It reads the whole outbox. */
export async function listWaitingKinds(db: Db): Promise<WaitingKind[]> {
  const { rows } = await sql<WaitingKind>`
    select kind, count(*)::int as count, min(created_at) as oldest_at from outbox
    where ${forTemporal} group by kind order by kind
  `.execute(db)
  return rows
}
