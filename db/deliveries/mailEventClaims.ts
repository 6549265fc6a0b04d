// Takes mail events out of the outbox, contact by contact: whose contact is locked by somebody else is left for later.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { MailEventFacts } from './mailEvents.ts'

const WORKSPACES_MAX = 1_000
/** One workspace's events have one reader at a time: their order is by their ids. */
const READER_LOCK = 0x6d61696c
/** A reader that is frozen, or whose machine is gone, holds contacts no longer than this. */
const IDLE_MAX = '10s'

/**
 * Workspaces with mail events, in the order of their ids.
 * @param after where to begin; '' at the first
 * @returns those that have some due, and where to go on; null when these were all
 */
export async function listMailEventWorkspaces(
  db: Db,
  after: string,
  now: Date,
): Promise<{ due: WorkspaceId[]; next: string | null }> {
  // One step down the index for each workspace, however many events it has.
  const { rows } = await sql<{ workspace_id: WorkspaceId; due: boolean }>`
    with recursive workspace as (
      (select workspace_id, due_at from outbox
        where kind = 'mail_event' and workspace_id > ${after}
        order by workspace_id, due_at limit 1)
      union all
      select n.workspace_id, n.due_at from workspace w cross join lateral (
        select workspace_id, due_at from outbox
        where kind = 'mail_event' and workspace_id > w.workspace_id
        order by workspace_id, due_at limit 1) n
    )
    select workspace_id, due_at <= ${now} as due from workspace limit ${WORKSPACES_MAX}
  `.execute(db)
  return {
    due: rows.filter((row) => row.due).map((row) => row.workspace_id),
    next: rows.length < WORKSPACES_MAX ? null : (rows.at(-1)?.workspace_id ?? null),
  }
}

const CONTACTS_MAX = 200

/** Contacts of a workspace whose mail events are due, those that have waited longest. */
export async function listMailEventContacts(
  db: Db,
  workspaceId: WorkspaceId,
  now: Date,
): Promise<string[]> {
  const { rows } = await sql<{ contact_id: string }>`
    select distinct contact_id from (
      select contact_id from outbox
      where kind = 'mail_event' and workspace_id = ${workspaceId} and due_at <= ${now}
      order by due_at, id limit ${CONTACTS_MAX}
    ) first
  `.execute(db)
  return rows.map((row) => row.contact_id)
}

/**
 * Makes this transaction the workspace's reader, and has Postgres end it (25P03) when it is left idle for ten seconds.
 * @returns false when another one is the reader
 */
export async function lockMailEvents(trx: Trx, workspaceId: WorkspaceId): Promise<boolean> {
  const { rows } = await sql<{ ours: boolean; set_config: string }>`
    select pg_try_advisory_xact_lock(${READER_LOCK}, hashtext(${workspaceId})) as ours,
      set_config('idle_in_transaction_session_timeout', ${IDLE_MAX}, true)
  `.execute(trx)
  return rows[0]?.ours ?? false
}

/** A mail event, with the mail it is about and the contact who is to hear of it. */
export interface ClaimedMailEvent extends MailEventFacts {
  /** outbox.id */
  id: number
  contact_id: string
  /** The contact's address. */
  email: string
  email_id: string
  subject: string
  workflow_id: string | null
  execution_id: string | null
  node_id: string | null
  chain_depth: number
}

export interface MailEventClaim {
  /** In the order of their ids; their contacts are locked. */
  events: ClaimedMailEvent[]
  /** Rows whose contact or mail is gone: nobody is to hear of them. */
  goneIds: number[]
  /** Rows that wait for a contact that somebody else holds. */
  heldIds: number[]
}

type ClaimRow = { ids: number[]; gone: boolean; held: boolean } & (
  | (Omit<ClaimedMailEvent, 'at'> & { at: string })
  | { id: number | null; email_id: null }
)

/** What is told of a row `o` of the outbox: its contact `c`, mail `m` and execution `x`. */
const toldColumns = sql`c.email, m.id as email_id, m.subject, m.workflow_id, m.execution_id, m.node_id,
      coalesce(x.chain_depth, 0) as chain_depth,
      o.payload->>'name' as name, o.payload->>'at' as at, o.payload->'data' as data`

/**
 * Claims due mail events of a workspace: locks the contacts of those that have waited longest, and gives of each
 * contact the oldest first. It waits for no lock. Rows are locked too: one that was taken from the outbox since this
 * statement began drops out.
 * @param contactId this contact's alone
 */
export async function claimMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  claim: { now: Date; rows: number; perContact: number; contactId: string | null },
): Promise<MailEventClaim> {
  const ofContact = claim.contactId === null ? sql`` : sql`and contact_id = ${claim.contactId}`
  // Planned anew each time (it does not begin with `with`): a plan made for an empty queue is none for a million rows.
  const { rows } = await sql<ClaimRow>`
    select d.ids, c.id is null as gone, c.id is not null and l.id is null as held,
      o.id, d.contact_id, ${toldColumns}
    from (
      select contact_id, array_agg(id) as ids from (
        select id, contact_id from outbox
        where kind = 'mail_event' and workspace_id = ${workspaceId} and due_at <= ${claim.now}
          ${ofContact}
        order by due_at, id limit ${claim.rows}
      ) first group by contact_id
    ) d
    left join lateral (
      select id from contacts where id = d.contact_id and workspace_id = ${workspaceId}
      for update skip locked
    ) l on true
    left join contacts c on c.id = d.contact_id and c.workspace_id = ${workspaceId}
    left join lateral (
      select id, payload from outbox
      where kind = 'mail_event' and contact_id = d.contact_id and l.id is not null
      order by id limit ${claim.perContact}
      for update skip locked
    ) o on true
    left join deliveries q on q.id = (o.payload->>'delivery_id')::bigint
    left join emails m on m.id = q.email_id
    left join executions x on x.id = m.execution_id
    order by o.id
  `.execute(trx)
  const claimed: MailEventClaim = { events: [], goneIds: [], heldIds: [] }
  for (const row of rows) {
    if (row.gone) claimed.goneIds.push(...row.ids)
    else if (row.held) claimed.heldIds.push(...row.ids)
    else if (row.id === null) continue
    else if (row.email_id === null) claimed.goneIds.push(row.id)
    else {
      const { ids, gone, held, ...event } = row
      claimed.events.push({ ...event, at: new Date(event.at) })
    }
  }
  return claimed
}

/**
 * Takes the oldest mail events of that name, of a contact whose lock the caller holds, out of the outbox, whenever they
 * are due.
 * @returns those to record, in their order
 */
export async function takeMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  { name, limit }: { name: string; limit: number },
): Promise<ClaimedMailEvent[]> {
  const { rows } = await sql<Omit<ClaimedMailEvent, 'at'> & { at: string }>`
    with taken as (
      delete from outbox where id in (
        select id from outbox
        where kind = 'mail_event' and contact_id = ${contactId} and workspace_id = ${workspaceId}
          and payload->>'name' = ${name}
        order by id limit ${limit}
        for update skip locked
      )
      returning id, payload
    )
    select o.id, c.id as contact_id, ${toldColumns}
    from taken o
    join contacts c on c.id = ${contactId} and c.workspace_id = ${workspaceId}
    join deliveries q on q.id = (o.payload->>'delivery_id')::bigint
    join emails m on m.id = q.email_id
    left join executions x on x.id = m.execution_id
    order by o.id
  `.execute(trx)
  return rows.map((row) => ({ ...row, at: new Date(row.at) }))
}
