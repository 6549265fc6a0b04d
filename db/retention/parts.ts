// What is deleted once it is old: each part is one table, with the index that finds its old rows, and what else must hold for them.
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { DAY_MS, type RetentionSetting } from '../../rules/retention.ts'
import type { Database } from '../schema.ts'
import { firstUuid } from '../webhooks/firstUuid.ts'

/** A condition on rows `t` of the table. @param before what is as old or older may go */
type Condition = (before: Date) => RawBuilder<SqlBool>

export interface RetentionPart {
  table: keyof Database
  /** The setting that says how long its rows are kept; a number: so many milliseconds, whatever is set. */
  kept: RetentionSetting | number
  /** From when on that is counted, for the docs. */
  since: string
  /** The order in which it is walked, which an index gives: columns that name one row, with their types. */
  key: Readonly<Record<string, string>>
  /** Finds the old ones by that index. */
  old: Condition
  /** What must hold besides: rows for which it does not are passed over. */
  only?: Condition
  /** The age of a row, for whoever asks how old the oldest is. */
  at: RawBuilder<unknown>
  /** What is set in old rows, which stay; absent: they are deleted. */
  set?: RawBuilder<unknown>
  /** Rows of one commit, where they are large. */
  page?: number
}

/** Whether there is a row. It is no `exists`, which the planner may turn into a join with the whole table. */
const isThere = (from: RawBuilder<unknown>) =>
  sql<SqlBool>`coalesce((select true from ${from} limit 1), false)`

/** The delivery may still be sent, or was settled later than that. */
const isRecent = (delivery: RawBuilder<unknown>, before: Date) =>
  isThere(
    sql`deliveries d where ${delivery} and (d.settled_at is null or d.settled_at > ${before})`,
  )

/** So much longer than others a delivery to an endpoint that is enabled may wait: it may have been asked for again on its last day. */
const WAIT_DAYS = 30
const isPending = sql<SqlBool>`t.state = 'pending'`

/** The event of a delivery was written in the same statement, so this is before it. */
const beforeItsEvent = sql`(lpad(to_hex((extract(epoch from d.created_at) * 1000)::bigint - 60000), 12, '0')
      || '00000000000000000000')::uuid`

const endOfMail = sql`(select max(d.settled_at) from deliveries d where d.email_id = t.email_id)`

/** Rows about mail of which nothing is sent any more. Its source and its attachments are read by who sends it alone. */
const ofEndedMail = {
  kept: 'ATTACHMENT_RETENTION_DAYS',
  since: 'the end of the last delivery',
  key: { email_id: 'text', position: 'smallint' },
  old: (before) => sql`t.email_id < ${firstIdAt('email', before.getTime())}`,
  only: (before) => sql`not ${isRecent(sql`d.email_id = t.email_id`, before)}`,
  at: endOfMail,
} as const satisfies Partial<RetentionPart>

/** What an execution has left that has ended. Those of one that runs for long are passed over. */
const ofEndedExecutions = {
  kept: 'EXECUTION_RETENTION_DAYS',
  since: 'the end of the execution',
  old: (before) => sql`t.execution_id < ${firstIdAt('execution', before.getTime())}`,
  only: (before) =>
    isThere(sql`executions e where e.id = t.execution_id and e.completed_at <= ${before}`),
  at: sql`(select e.completed_at from executions e where e.id = t.execution_id)`,
} as const satisfies Partial<RetentionPart>

/** Suppressions, of addresses and of hashes. */
const ofEndedSuppressions = {
  kept: 'SUPPRESSION_RETENTION_DAYS',
  since: 'its end; those without an end stay',
  old: (before) => sql`t.expires_at <= ${before}`,
  at: sql`t.expires_at`,
} as const satisfies Partial<RetentionPart>

/** The closed list. A part stands behind those that must be gone before its own rows may go. */
export const retentionParts: readonly RetentionPart[] = [
  {
    table: 'idempotency_keys',
    kept: limits.idempotencyKeptMs,
    since: 'the answer',
    key: { created_at: 'timestamptz', workspace_id: 'text', key_hash: 'bytea' },
    old: (before) => sql`t.created_at <= ${before}`,
    at: sql`t.created_at`,
  },
  {
    table: 'webhook_deliveries',
    kept: 'WEBHOOK_RETENTION_DAYS',
    since: `the event; those that an enabled endpoint has still to get stay ${WAIT_DAYS} days longer`,
    key: { id: 'uuid' },
    old: (before) => sql`t.id < ${firstUuid(before)}::uuid`,
    only: (before) =>
      sql`(not ${isPending} or t.id < ${firstUuid(new Date(before.getTime() - WAIT_DAYS * DAY_MS))}::uuid
        or not coalesce((select w.status = 'enabled' from webhooks w where w.id = t.webhook_id), false))`,
    at: sql`t.created_at`,
  },
  {
    table: 'webhook_events',
    kept: 'WEBHOOK_RETENTION_DAYS',
    since: 'the event; none goes before the deliveries that are as old',
    key: { id: 'uuid' },
    // An event that is gone before its delivery would leave one at the head of its line that is never sent.
    old: (before) => sql`t.id < coalesce((select ${beforeItsEvent} from webhook_deliveries d
      where d.id < ${firstUuid(before)}::uuid order by d.id limit 1), ${firstUuid(before)}::uuid)`,
    at: sql`t.at`,
  },
  {
    table: 'email_stats',
    kept: 'STATS_RETENTION_DAYS',
    since: 'the hour',
    key: { hour: 'int', workspace_id: 'text', kind: 'text', domain_id: 'text', value: 'text' },
    old: (before) => sql`t.hour < stat_hour(${before}::timestamptz)`,
    at: sql`to_timestamp(t.hour * 3600.0)`,
  },
  {
    table: 'email_firsts',
    kept: 'STATS_RETENTION_DAYS',
    since: 'the first open, click or unsubscribing',
    key: { at: 'timestamptz', delivery_id: 'bigint', kind: 'text' },
    old: (before) => sql`t.at <= ${before}`,
    at: sql`t.at`,
  },
  { table: 'email_attachments', ...ofEndedMail, page: 50 },
  { table: 'email_sources', ...ofEndedMail, page: 50 },
  {
    table: 'delivery_attempts',
    kept: 'ATTEMPT_RETENTION_DAYS',
    since: 'the end of the delivery',
    key: { delivery_id: 'bigint', attempt: 'int' },
    // Deliveries that were written before those of the first mail that is younger.
    old: (before) => sql`t.delivery_id < coalesce((
      select d.id from deliveries d where d.email_id >= ${firstIdAt('email', before.getTime())}
      order by d.email_id limit 1), 9223372036854775807)`,
    only: (before) =>
      isThere(sql`deliveries d where d.id = t.delivery_id and d.settled_at <= ${before}`),
    at: sql`t.ended_at`,
  },
  {
    table: 'email_events',
    kept: 'VISITOR_RETENTION_DAYS',
    since: 'the open or click; it stays, without `ip` and `user_agent`',
    key: { at: 'timestamptz', id: 'bigint' },
    old: (before) => sql`t.data ?| array['ip', 'user_agent'] and t.at <= ${before}`,
    at: sql`t.at`,
    set: sql`data = data - 'ip' - 'user_agent'`,
  },
  {
    table: 'job_failures',
    kept: 'JOB_RETENTION_DAYS',
    since: 'the end of the job',
    key: { job_id: 'text', line: 'bigint' },
    old: (before) => sql`t.job_id < ${firstIdAt('job', before.getTime())}`,
    only: (before) =>
      sql`coalesce((select j.completed_at <= ${before} from jobs j where j.id = t.job_id), false)`,
    at: sql`(select j.completed_at from jobs j where j.id = t.job_id)`,
  },
  {
    table: 'jobs',
    kept: 'JOB_RETENTION_DAYS',
    since: 'the end of the job',
    key: { completed_at: 'timestamptz', id: 'text' },
    old: (before) => sql`t.completed_at <= ${before}`,
    // Its lines go first, in pages of their own: one delete would take them all. An erasure that has failed is not done yet.
    only: () =>
      sql`t.status in ('completed', 'failed', 'cancelled') and not (t.kind = 'erasure' and t.status = 'failed')
        and not ${isThere(sql`job_failures f where f.job_id = t.id`)}`,
    at: sql`t.completed_at`,
  },
  {
    table: 'http_calls',
    kept: 'HTTP_CALL_RETENTION_DAYS',
    since: 'the end of the execution',
    key: { created_at: 'timestamptz', execution_id: 'text', segment: 'int' },
    old: (before) => sql`t.created_at <= ${before}`,
    only: ofEndedExecutions.only,
    at: sql`t.created_at`,
  },
  {
    ...ofEndedExecutions,
    table: 'execution_segments',
    key: { execution_id: 'text', segment: 'int' },
  },
  {
    ...ofEndedExecutions,
    table: 'execution_steps',
    key: { execution_id: 'text', seq: 'int' },
  },
  {
    ...ofEndedExecutions,
    table: 'event_waits',
    key: { execution_id: 'text', segment: 'int', node_id: 'text' },
  },
  {
    table: 'complaints',
    kept: 'COMPLAINT_RETENTION_DAYS',
    since: 'the complaint and the delivery, whichever was later',
    key: { at: 'timestamptz', delivery_id: 'bigint' },
    old: (before) => sql`t.at <= ${before}`,
    only: (before) => sql`not ${isRecent(sql`d.id = t.delivery_id`, before)}`,
    at: sql`t.at`,
  },
  {
    ...ofEndedMail,
    table: 'submitted_message_ids',
    kept: 'MESSAGE_ID_RETENTION_DAYS',
    key: { email_id: 'text', hash: 'bigint', workspace_id: 'text' },
  },
  {
    ...ofEndedSuppressions,
    table: 'suppressions',
    key: { expires_at: 'timestamptz', workspace_id: 'text', email: 'text' },
  },
  {
    ...ofEndedSuppressions,
    table: 'erased_suppressions',
    key: { expires_at: 'timestamptz', workspace_id: 'text', address_hmac: 'bytea' },
  },
  {
    table: 'soft_bounces',
    kept: 'SOFT_BOUNCE_RETENTION_DAYS',
    since: 'the day, and the delivery that has cleared it; those that count stay',
    key: { day: 'date', workspace_id: 'text', email: 'text' },
    old: (before) =>
      sql`t.cleared_by is not null and t.day < (${before}::timestamptz at time zone 'UTC')::date`,
    only: (before) => sql`not ${isRecent(sql`d.email_id = t.cleared_by`, before)}`,
    at: sql`t.day::timestamp at time zone 'UTC'`,
  },
  {
    table: 'former_tokens',
    kept: 'FORMER_TOKEN_RETENTION_DAYS',
    since: 'its end',
    key: { expires_at: 'timestamptz', token_hash: 'bytea' },
    old: (before) => sql`t.expires_at <= ${before}`,
    at: sql`t.expires_at`,
  },
  {
    table: 'email_days',
    kept: 7 * DAY_MS,
    since: 'the day',
    key: { day: 'date', subject: 'text' },
    old: (before) => sql`t.day < (${before}::timestamptz at time zone 'UTC')::date`,
    at: sql`t.day::timestamp at time zone 'UTC'`,
  },
]
