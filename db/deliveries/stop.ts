// Settles mail that waits and must not be sent any more: the recipient left, was suppressed, or the execution that sent
// it was cancelled.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { isWaiting } from './guards.ts'
import type { Verdict } from './look.ts'

/** Why waiting mail is settled without an attempt. */
export type Stop = Exclude<Verdict, 'wait' | 'erased'> | DomainStop

/** Why scheduled mail is not sent when its time comes: its domain was deleted, or may not send any more. */
export type DomainStop = 'domain_deleted' | 'domain_not_verified'

/** The state that a stop leads to. It counts as no bounce, wakes no workflow and suppresses nobody. */
export const stoppedState = (stop: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`case ${stop} when 'suppressed' then 'suppressed' else 'cancelled' end`

/** The data of the recipient's email event `bounced`. */
export const stoppedData = (stop: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`jsonb_build_object('type', 'Permanent', 'subtype', case ${stop}
      when 'suppressed' then 'OnAccountSuppressionList' when 'left' then 'Unsubscribed'
      when 'domain_deleted' then 'DomainDeleted' when 'domain_not_verified' then 'DomainNotVerified'
      else 'Cancelled' end)`

/** The most deliveries that one commit settles. What is left is found when it is due. */
export const SETTLED_MAX = 5_000

/** Mail to addresses (lower case): all of it, or the marketing mail of one workflow, or of any. */
export interface WaitingFor {
  emails: readonly string[]
  workflowId?: string | 'any'
}

const isFor = ({ emails, workflowId }: WaitingFor) =>
  workflowId === undefined
    ? sql`lower(recipient) = any(${[...emails]}::text[])`
    : workflowId === 'any'
      ? sql`lower(recipient) = any(${[...emails]}::text[]) and marketing and workflow_id is not null`
      : sql`lower(recipient) = any(${[...emails]}::text[]) and marketing and workflow_id = ${workflowId}`

/** A query of the ids of deliveries that wait, in the order in which they are locked. What is scheduled is looked at when it is due. */
const waitingRows = (matches: RawBuilder<unknown>) =>
  sql`select id from deliveries
      where ${matches} and settled_at is null and lease_until is null and ${isWaiting} and not scheduled
      order by id`

/**
 * Settles what waits for addresses. Deliveries that another transaction has locked are skipped, so it waits for
 * nothing: a lane is claiming or settling them, and the next claim looks.
 * @returns how many it settled
 */
export async function stopWaiting(
  trx: Trx,
  workspaceId: WorkspaceId,
  mail: WaitingFor,
  stop: Stop,
  now: Date,
): Promise<number> {
  return stopMatching(trx, sql`workspace_id = ${workspaceId} and ${isFor(mail)}`, stop, now)
}

/** Settles the marketing mail of executions that waits, as `cancelled`. @returns how many it settled */
export async function stopMailOfExecutions(
  trx: Trx,
  workspaceId: WorkspaceId,
  executionIds: readonly string[],
  now: Date,
): Promise<number> {
  if (executionIds.length === 0) return 0
  const isTheirs = sql`workspace_id = ${workspaceId} and marketing and email_id in (
        select id from emails where execution_id = any(${[...executionIds]}::text[]))`
  return stopMatching(trx, isTheirs, 'cancelled', now)
}

async function stopMatching(
  trx: Trx,
  matches: RawBuilder<unknown>,
  stop: Stop,
  now: Date,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    with waiting as (
      ${waitingRows(matches)} limit ${SETTLED_MAX} for update skip locked
    ), stopped as (
      update deliveries d set state = ${stoppedState(sql`${stop}::text`)}, settled_at = ${now}::timestamptz
      from waiting where d.id = waiting.id
      returning d.id, d.email_id, d.workspace_id, d.recipient
    ), events as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select email_id, workspace_id, recipient, 'bounced', ${now}::timestamptz, ${stoppedData(sql`${stop}::text`)}
      from stopped on conflict do nothing
    )
    select id from stopped
  `.execute(trx)
  return rows.length
}

/**
 * Makes marketing mail of a workflow that claims have put off until `until` due again, because the opt-out is undone.
 * @returns how much of it
 */
export async function resumeWaiting(
  trx: Trx,
  workspaceId: WorkspaceId,
  mail: Required<WaitingFor>,
  until: Date,
  now: Date,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    with waiting as (
      ${waitingRows(sql`workspace_id = ${workspaceId} and ${isFor(mail)} and next_at = ${until}`)}
      for update skip locked
    ), resumed as (
      update deliveries d set next_at = ${now}::timestamptz, ready = false from waiting where d.id = waiting.id
      returning d.id
    )
    select id from resumed
  `.execute(trx)
  return rows.length
}
