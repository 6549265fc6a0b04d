// Claims mail events of the outbox, contact by contact. Those of contacts that are locked stay for later.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { MailEventFacts } from './mailEvents.ts'

const WORKSPACES_MAX = 1_000
/**
 * First half of the advisory lock's key. One transaction at a time reads a workspace's mail events, which keeps
 * their order.
 */
const READER_LOCK = 0x6d61696c
/** How long a frozen or lost worker can keep its locks on contacts. */
const IDLE_MAX = '10s'

/**
 * Finds workspaces with due mail events, in the order of their ids.
 * @param after the id to begin after; '' for the first page
 * @returns workspaces with due mail events, and the `after` of the next page; null after the last
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

/** Contacts of a workspace with the oldest due mail events. */
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
 * Makes this transaction the only reader of the workspace's mail events. Postgres ends it (25P03) if it is idle
 * for ten seconds.
 * @returns false if another transaction is the reader
 */
export async function lockMailEvents(trx: Trx, workspaceId: WorkspaceId): Promise<boolean> {
  const { rows } = await sql<{ ours: boolean; set_config: string }>`
    select pg_try_advisory_xact_lock(${READER_LOCK}, hashtext(${workspaceId})) as ours,
      set_config('idle_in_transaction_session_timeout', ${IDLE_MAX}, true)
  `.execute(trx)
  return rows[0]?.ours ?? false
}

/** A mail event with its email and its contact. */
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
  /** Events in the order of their ids. Their contacts are locked. */
  events: ClaimedMailEvent[]
  /** Ids of rows whose contact or email no longer exists: nothing is recorded for them. */
  goneIds: number[]
  /** Ids of rows whose contact another transaction has locked. */
  heldIds: number[]
}

type ClaimRow = { ids: number[]; gone: boolean; held: boolean } & (
  | (Omit<ClaimedMailEvent, 'at'> & { at: string })
  | { id: number | null; email_id: null }
)

/** The columns of a claimed event, from its outbox row `o`, contact `c`, email `m` and execution `x`. */
const toldColumns = sql`c.email, m.id as email_id, m.subject, m.workflow_id, m.execution_id, m.node_id,
      coalesce(x.chain_depth, 0) as chain_depth,
      o.payload->>'name' as name, o.payload->>'at' as at, o.payload->'data' as data`

/**
 * Claims due mail events of a workspace: locks the contacts with the oldest ones and returns each contact's
 * events, oldest first. It waits for no lock. Outbox rows are locked too, so a row that another transaction has
 * just removed is left out.
 * @param contactId only the events of this contact; null: of all
 */
export async function claimMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  claim: { now: Date; rows: number; perContact: number; contactId: string | null },
): Promise<MailEventClaim> {
  const ofContact = claim.contactId === null ? sql`` : sql`and contact_id = ${claim.contactId}`
  // Planned at each call (it does not begin with `with`), because a plan for an empty queue is slow for a million
  // rows.
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
 * Removes a contact's oldest mail events of these names from the outbox, due or not. The caller holds the contact's
 * lock. It waits for a reader who puts rows off at this moment because the contact is held, so that it misses none.
 * @returns the events to record, in their order
 */
export async function takeMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  { names, limit }: { names: readonly string[]; limit: number },
): Promise<ClaimedMailEvent[]> {
  const { rows } = await sql<Omit<ClaimedMailEvent, 'at'> & { at: string }>`
    with taken as (
      delete from outbox where id in (
        select id from outbox
        where kind = 'mail_event' and contact_id = ${contactId} and workspace_id = ${workspaceId}
          and payload->>'name' = any(${[...names]}::text[])
        order by id limit ${limit}
        for update
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
