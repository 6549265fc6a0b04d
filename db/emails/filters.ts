// What a list of emails may be filtered by, each by an index that gives the newest first.
import { type SqlBool, sql } from 'kysely'
import { firstIdAt, type WorkspaceId } from '../../rules/ids.ts'
import type { EmailStatus } from '../schema.ts'

export interface EmailFilter {
  /** That a recipient has had, whatever came after it. */
  status?: EmailStatus | undefined
  /** A recipient's bare address: of to, cc or bcc. Letter case is no matter. */
  to?: string | undefined
  /** The sender's bare address. */
  from?: string | undefined
  domainId?: string | undefined
  /** `key:value` */
  tag?: string | undefined
  type?: 'transactional' | 'broadcast' | undefined
  workflowId?: string | undefined
  /** Accepted then or later, in ms. */
  since?: number | undefined
  /** Accepted before, in ms. */
  until?: number | undefined
}

/**
 * An id tells when it was made, and so the list by ids serves times too. A process whose clock was set back makes ids
 * of a later time than it notes: by less than this.
 */
const CLOCK_SLACK_MS = 60_000

/** Where the newest-first walk through ids begins and ends: the ids of emails that may be of the times. */
interface Bounds {
  /** Before this id; null: from the newest. */
  before: string | null
  /** At this id or after it; null: to the oldest. */
  from: string | null
}

/** @param after the last id of the page before */
export function boundsOf({ since, until }: EmailFilter, after: string | null): Bounds {
  const latest = until === undefined ? null : firstIdAt('email', until + CLOCK_SLACK_MS)
  const before = after !== null && (latest === null || after < latest) ? after : latest
  const from = since === undefined ? null : firstIdAt('email', since - CLOCK_SLACK_MS)
  return { before, from }
}

const within = (column: ReturnType<typeof sql>, { before, from }: Bounds) => sql<SqlBool>`
  ${before === null ? sql`true` : sql`${column} < ${before}`}
  and ${from === null ? sql`true` : sql`${column} >= ${from}`}`

/** The bare address of the sender, as its index has it. */
const sender = sql<string>`lower(coalesce(substring(emails."from" from '<([^<>]+)>\\s*$'), emails."from"))`

/** Scheduled mail is sent when it is due. */
const wasSent = sql<SqlBool>`(emails.scheduled_at is null or coalesce((
  select true from email_events v where v.email_id = emails.id and v.status = 'sent' limit 1), false))`

/**
 * The filters that are columns of emails, and the bounds.
 * @returns a condition on `emails`
 */
export function ofEmails(filter: EmailFilter, bounds: Bounds) {
  const { status, from, domainId, type, workflowId, since, until } = filter
  const rules: ReturnType<typeof sql>[] = [within(sql`emails.id`, bounds)]
  if (from !== undefined) rules.push(sql`${sender} = ${from.toLowerCase()}`)
  if (domainId !== undefined) rules.push(sql`emails.domain_id = ${domainId}`)
  if (type !== undefined) rules.push(sql`emails.type = ${type}`)
  if (workflowId !== undefined) rules.push(sql`emails.workflow_id = ${workflowId}`)
  if (since !== undefined) rules.push(sql`emails.created_at >= ${new Date(since)}`)
  if (status === 'sent') rules.push(wasSent)
  if (until !== undefined) rules.push(sql`emails.created_at < ${new Date(until)}`)
  return sql.join(rules, sql` and `)
}

/**
 * The filters that other tables know: for each a `join` that gives ids of emails, the newest first. `distinct` keeps Postgres from
 * reading emails first and asking for each whether it fits, which would not end where few fit.
 */
export function joinsOf(
  workspaceId: WorkspaceId,
  { status, to, tag }: EmailFilter,
  bounds: Bounds,
) {
  const joins: ReturnType<typeof sql>[] = []
  const add = (name: string, from: ReturnType<typeof sql>) =>
    joins.push(sql`join (
      select distinct x.email_id from ${from} and ${within(sql`x.email_id`, bounds)}
      order by x.email_id desc nulls last
    ) ${sql.ref(name)} on ${sql.ref(name)}.email_id = emails.id`)
  // Every recipient has the event `sent`, or has it as soon as scheduled mail is due (`wasSent`).
  if (status === 'scheduled') {
    add(
      'by_status',
      sql`deliveries x where x.workspace_id = ${workspaceId} and x.scheduled and x.settled_at is null`,
    )
  } else if (status !== undefined && status !== 'sent') {
    add(
      'by_status',
      sql`email_events x where x.workspace_id = ${workspaceId} and x.status = ${status}
        and x.status <> 'sent' and x.machine is null`,
    )
  }
  if (to !== undefined) {
    add(
      'by_recipient',
      sql`deliveries x where x.workspace_id = ${workspaceId} and lower(x.recipient) = ${to.toLowerCase()}`,
    )
  }
  if (tag !== undefined) {
    add('by_tag', sql`email_tags x where x.workspace_id = ${workspaceId} and x.tag = ${tag}`)
  }
  return joins.length === 0 ? sql`` : sql.join(joins, sql` `)
}
