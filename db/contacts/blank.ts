// Blanks what names an erased contact, table by table, in pages: each statement finds what it has not done yet, so it may be repeated.
// Long because it has a statement for each kind of row.
import { type RawBuilder, sql } from 'kysely'
import { ownReasons } from '../../rules/cancelReasons.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { ADDRESS_FIELDS } from '../../rules/mail/headers.ts'
import type { Trx } from '../connect.ts'
import type { Erased } from './erase.ts'
import { plainLetters, wholeAddress } from './wholeAddress.ts'

/** What of a body is no value of a person: ids, times and words of the service. */
const keptKeys = [
  ...['id', 'email_id', 'type', 'workflow_id', 'execution_id', 'audience_id', 'workspace_id'],
  ...['status', 'current_step_id', 'last_event', 'reason', 'source_id'],
]

/** SQL: a reason of the service's own; a text that somebody wrote may name the contact. */
export const isOwnReason = (text: RawBuilder<unknown>) =>
  sql`${text} = any(${[...ownReasons]}::text[])`

/** A body without what names a person: texts are null, lists and objects empty. */
const blanked = (body: RawBuilder<unknown>, email: string) => sql`(
  select coalesce(jsonb_object_agg(key, case
    when key = any(${keptKeys}::text[]) and strpos(lower(value::text), ${email}) = 0 then value
    when key = 'cancellation_reason' and ${isOwnReason(sql`value #>> '{}'`)} then value
    when jsonb_typeof(value) in ('number', 'boolean') then value
    when jsonb_typeof(value) = 'object' then '{}' when jsonb_typeof(value) = 'array' then '[]'
    else 'null' end), '{}')
  from jsonb_each(${body}))`

/** The contact's next automation events. */
export function listEventsOf(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  limit: number,
): Promise<{ id: string; event_id: string }[]> {
  return trx
    .selectFrom('automation_events')
    .select(['id', 'event_id'])
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contactId)
    .orderBy('contact_id')
    .orderBy(sql`id desc nulls last`)
    .limit(limit)
    .execute()
}

/** Deletes automation events, and keeps the hashes of callers' ids, so that none of them is recorded again. */
export async function deleteEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  { ids, spent }: { ids: readonly string[]; spent: readonly Buffer[] },
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    with kept as (
      insert into spent_event_ids (workspace_id, id_hash)
      select ${workspaceId}, id_hash from unnest(${[...spent]}::bytea[]) as id_hash order by id_hash
      on conflict do nothing
    )
    delete from automation_events where workspace_id = ${workspaceId} and id = any(${[...ids]}::text[])
  `.execute(trx)
}

/**
 * Blanks bodies that webhooks are told, or were. What is not delivered yet goes out so. Those about executions of the contact are theirs
 * whenever they were written: one may have ended while the erasure was answered, by somebody who holds no lock of the contact.
 * @returns how many
 */
export async function blankWebhookEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactId, email, deliveryId, webhookEventId }: Erased,
  limit: number,
): Promise<number> {
  const { rows } = await sql`
    update webhook_events e set data = ${blanked(sql`e.data`, email)} from (
      select id from webhook_events
      where workspace_id = ${workspaceId} and webhook_person(data) = ${email}
        and (id < ${webhookEventId}::uuid or exists (select from deliveries d where d.workspace_id = ${workspaceId}
          and lower(d.recipient) = ${email}
          and d.email_id in (webhook_events.data->>'email_id', webhook_events.data->>'source_id')
          and d.id <= ${deliveryId}::bigint)
        or exists (select from executions x where x.id = webhook_events.data->>'execution_id' and x.contact_id = ${contactId}))
      limit ${limit} for update) named
    where e.id = named.id returning e.id`.execute(trx)
  return rows.length
}

/** A recipient of a mail that is blanked now. */
export interface BlankedMail {
  delivery_id: number
  email_id: string
  /** Whether its content goes too, since it has ended for all of its recipients. */
  loses_content: boolean
  /** Whether others have got it, or will. */
  is_shared: boolean
  /** Whether these others are the team, to whom an execution has sent it: it is about the contact, whatever its links name. */
  is_of_team: boolean
}

/**
 * Their mail that has ended for them. Mail whose other recipients have not got it yet is left for later, unless that is scheduled or
 * `waits` is false.
 */
export async function listMailToBlank(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, deliveryId }: Pick<Erased, 'email' | 'deliveryId'>,
  { waits, limit }: { waits: boolean; limit: number },
): Promise<BlankedMail[]> {
  const { rows } = await sql<BlankedMail>`
    select d.id as delivery_id, d.email_id, coalesce(o.has_ended, true) as loses_content, o.has_ended is not null as is_shared,
      coalesce(o.is_of_team, false) as is_of_team
    from deliveries d
    cross join lateral (
      select bool_and(o.settled_at is not null) filter (where lower(o.recipient) <> ${email}) as has_ended,
        bool_or(o.settled_at is null and not o.scheduled) filter (where lower(o.recipient) <> ${email}) as is_under_way,
        bool_or(o.settled_at is null and lower(o.recipient) = ${email}) as is_theirs_too,
        bool_and(o.to_team) filter (where lower(o.recipient) <> ${email}) as is_of_team
      from deliveries o where o.email_id = d.email_id
    ) o
    where d.workspace_id = ${workspaceId} and lower(d.recipient) = ${email} and d.id <= ${deliveryId}::bigint
      and not o.is_theirs_too and (o.is_under_way is not true or ${!waits}::boolean)
    order by d.id limit ${limit}
  `.execute(trx)
  return rows
}

/** Whether mail of theirs is still under way, or goes to others too who have not got it yet. */
export async function hasMailLeft(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, deliveryId }: Pick<Erased, 'email' | 'deliveryId'>,
): Promise<boolean> {
  const row = await trx
    .selectFrom('deliveries')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`lower(recipient) = ${email}`)
    .where('id', '<=', deliveryId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Whether a text or a link names the address, as it is or percent-encoded; of a longer one it is no part. A header names thousands, and to look
 * for the whole pattern in each takes 50 times as long as for the letters that every spelling has.
 */
export const isNamed = (text: RawBuilder<unknown>, email: string) =>
  sql`(strpos(lower(${text}), ${plainLetters(email)}) > 0 and lower(${text}) ~ ${wholeAddress(email)})`

/** The address of who is erased. */
export interface ErasedAddress {
  /** In lower case. */
  email: string
  /** Whether it is of a domain of the customer's: where it sends mail, or is to be answered, it stays. */
  isCustomers: boolean
}

/**
 * An expression: the address alone of an entry, which may have a name before it, and in mail of before spaces of any kind around it. It is the
 * expression of the index `emails_reply_to` (migration 64): to change it takes a migration.
 */
export const addressIn = (entry: RawBuilder<unknown>) =>
  sql`coalesce(substring(${entry} from '<([^<>]+)>[^<>]*$'), substring(${entry} from '[!-~]+@[!-~]+'), ${entry})`

/**
 * An expression: a list of addresses without the entries that are this one. Others who are called by it lose their name. Migration 64 reads an
 * entry likewise; 63 in an earlier form, which finds the same in what `readList` writes.
 * @param stays a condition: the entries that are this one stay too
 */
const without = (column: string, email: string, stays = sql`false`) => sql`(
    select coalesce(array_agg(case when lower(e.address) <> ${email} and ${isNamed(sql`a.entry`, email)}
      then e.address else a.entry end order by a.place), '{}')
    from unnest(m.${sql.ref(column)}) with ordinality as a(entry, place)
    cross join lateral (select ${addressIn(sql`a.entry`)} as address) e
    where lower(e.address) <> ${email} or ${stays})`

/** A condition on a sender: it is somebody else who is called by the address. One who writes by it is the customer's own, and stays. */
const isSenderCalled = (from: RawBuilder<unknown>, email: string) =>
  sql`(${isNamed(from, email)} and lower(${addressIn(from)}) <> ${email})`

/** A condition on an email `m`: the address is the customer's, so whom to answer is not who is erased. */
const isAnsweredByCustomer = ({ email, isCustomers }: ErasedAddress) =>
  sql`(${isCustomers}::boolean or lower(${addressIn(sql`m."from"`)}) = ${email})`

/** Assignments to an email `m`: it names the address no more. */
const namedNoMore = (whom: ErasedAddress) => {
  const { email } = whom
  return sql`
        "to" = ${without('to', email)}, cc = ${without('cc', email)}, bcc = ${without('bcc', email)},
        reply_to = ${without('reply_to', email, isAnsweredByCustomer(whom))}, "from" = case
          when ${isSenderCalled(sql`m."from"`, email)} then ${addressIn(sql`m."from"`)} else m."from" end`
}

/** An expression: headers of an email `m` without the address fields that name this address. Such a header goes as a whole. */
const withoutAddressFields = (email: string) => sql`(
    select coalesce(jsonb_object_agg(h.key, h.value), '{}') from jsonb_each(m.headers) as h
    where not (h.key ~* ${ADDRESS_FIELDS.source} and ${isNamed(sql`h.value #>> '{}'`, email)}))`

/**
 * Takes the address out of mail: out of its recipients, and out of what servers and readers said of them. Content goes where it has ended for
 * all. Other recipients stay, with the links that they may still follow. The caller holds the tracking lock of each mail, and its deliveries.
 * @param hmac by which a later report still finds whom it is about
 */
export async function blankMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: ErasedAddress & { hmac: Buffer },
  mails: readonly BlankedMail[],
  now: Date,
): Promise<void> {
  if (mails.length === 0) return
  const { hmac } = whom
  await blankContents(trx, workspaceId, whom, mails)
  await sql`
    with page as (
      select d.id, d.email_id, d.recipient, d.state from deliveries d
      where d.workspace_id = ${workspaceId} and d.id = any(${mails.map((mail) => mail.delivery_id)}::bigint[])
      order by d.id for update
    ), attempts as (
      update delivery_attempts a set response = null, conversation = '' from page where a.delivery_id = page.id
    ), events as (
      update email_events e set recipient = 'erased-' || page.id,
        data = e.data - array['smtp_response', 'ip', 'user_agent', 'link']
      from page where e.email_id = page.email_id and e.recipient = page.recipient
    ), cancelled as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select email_id, ${workspaceId}, 'erased-' || id, 'bounced', ${now}::timestamptz,
        '{"type": "Permanent", "subtype": "Cancelled"}'
      from page where state = 'cancelled' and not exists (select from email_events e
        where e.email_id = page.email_id and e.recipient = page.recipient and e.status = 'bounced')
    )
    update deliveries d set recipient = 'erased-' || d.id, last_response = null,
      own_hmac = case when d.address_hmac is distinct from ${hmac}::bytea then ${hmac}::bytea end
    from page where d.id = page.id
  `.execute(trx)
}

/** Steps of a `with`, after `ended`: what others did and what their servers said, where it names the address, and all of it of the team. The last is open. */
const stepsOfOthers = (email: string) => sql`others_links as (
      update email_links l set urls = array(select case when ${isNamed(sql`u.url`, email)} then '' else u.url end
        from unnest(l.urls) with ordinality as u(url, place) order by u.place)
      from ended where l.email_id = ended.email_id and ended.keeps_links
    ), others_events as (
      update email_events e set data = e.data - array['link', 'smtp_response'] from ended
      where e.email_id = ended.email_id and ended.is_shared and e.data ?| array['link', 'smtp_response']
        and (ended.is_of_team or ${isNamed(sql`concat(e.data->>'link', ' ', e.data->>'smtp_response')`, email)})
    ), others_attempts as (
      update delivery_attempts a set response = null, conversation = ''
      from ended join deliveries o on o.email_id = ended.email_id
      where a.delivery_id = o.id and ended.is_shared
        and (ended.is_of_team or ${isNamed(sql`concat(a.response, ' ', a.conversation)`, email)})
    ), others_replies as (
      update deliveries o set last_response = null from ended
      where o.email_id = ended.email_id and ended.is_shared and o.last_response is not null
        and (ended.is_of_team or ${isNamed(sql`o.last_response`, email)})`

/** The update, after `page`, of what webhooks are told of it about others: without content where it has ended, and without a name of the sender. */
const tellingOthers = (workspaceId: WorkspaceId, email: string) => sql`
    update webhook_events e set data = case when other.loses_content then ${withoutContent(email)} else e.data end
      || case when ${isSenderCalled(sql`(e.data->>'from')`, email)}
        then jsonb_build_object('from', ${addressIn(sql`(e.data->>'from')`)}) else '{}' end
    from (select distinct o.email_id, page.is_of_team, page.loses_content, left(lower(o.recipient), 320) as person
      from page join deliveries o on o.email_id = page.email_id where page.is_shared) other
    where e.workspace_id = ${workspaceId} and webhook_person(e.data) = other.person
      and e.data->>'email_id' = other.email_id
      and (other.loses_content or ${isSenderCalled(sql`(e.data->>'from')`, email)})`

const withoutContent = (email: string) => sql`case
        when other.is_of_team or ${isNamed(sql`e.data #>> '{bounce,response}'`, email)} then e.data #- '{bounce,response}'
        else e.data end || '{"subject": null, "tags": {}, "metadata": {}}'
      || case when e.data ? 'link' and (other.is_of_team or ${isNamed(sql`e.data->>'link'`, email)})
        then '{"link": null}'::jsonb else '{}' end`

/**
 * Takes content, tags and metadata out of mail that has ended for all, and out of what webhooks tell others of it; out of other mail the
 * address: among its recipients, in names of others and of the sender, and in address fields of its headers. Servers may quote what they refuse: of what they said to others goes what names the address, and all of it
 * where the others are the team.
 */
export async function blankContents(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: ErasedAddress,
  mails: readonly Omit<BlankedMail, 'delivery_id'>[],
): Promise<void> {
  const { email } = whom
  await sql`
    with page as (
      select distinct p.email_id, p.loses_content, p.is_shared, p.is_of_team
      from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb)
        as p(email_id text, loses_content boolean, is_shared boolean, is_of_team boolean)
    ), ended as (select email_id, is_shared, is_of_team, is_shared and not is_of_team as keeps_links from page where loses_content
    ), shown as (
      update emails m set ${namedNoMore(whom)}, headers = ${withoutAddressFields(email)}
      from page where m.id = page.email_id and m.workspace_id = ${workspaceId} and not page.loses_content
    ), mail as (
      update emails m set subject = '', html = null, text = '', headers = '{}', tags = '{}', metadata = '{}',
        message_id = case when starts_with(m.message_id, substr(m.id, 4) || '.') then m.message_id
          else substr(m.id, 4) || '.erased' end, ${namedNoMore(whom)}
      from ended where m.id = ended.email_id and m.workspace_id = ${workspaceId}
    ), ids as (
      delete from submitted_message_ids i using ended join emails m on m.id = ended.email_id
      where i.hash = hashtextextended(m.message_id, 0) and i.workspace_id = ${workspaceId} and i.email_id = m.id
    ), files as (
      delete from email_attachments f using ended where f.email_id = ended.email_id
    ), sources as (
      delete from email_sources s using ended where s.email_id = ended.email_id
    ), links as (
      delete from email_links l using ended where l.email_id = ended.email_id and not ended.keeps_links
    ), ${stepsOfOthers(email)}
    ), tags as (
      delete from email_tags t using ended where t.workspace_id = ${workspaceId} and t.email_id = ended.email_id
    )
    ${tellingOthers(workspaceId, email)}
  `.execute(trx)
}

const isMailOf = (workspaceId: WorkspaceId) =>
  sql<boolean>`(select workspace_id from emails where id = email_sources.email_id) = ${workspaceId}`

/** The header of a mail that was submitted as a whole and goes to others yet: its first slice. */
export async function findFirstSlice(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
): Promise<Buffer | undefined> {
  const row = await trx
    .selectFrom('email_sources')
    .select('content')
    .where('email_id', '=', emailId)
    .where('position', '=', 0)
    .where(isMailOf(workspaceId))
    .executeTakeFirst()
  return row?.content
}

/** Replaces it by one of the same length. */
export async function replaceFirstSlice(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
  content: Buffer,
): Promise<void> {
  await trx
    .updateTable('email_sources')
    .set({ content })
    .where('email_id', '=', emailId)
    .where('position', '=', 0)
    .where(isMailOf(workspaceId))
    .execute()
}

/** A schedule that has come to them goes on after who was before them. */
export async function forgetPlaces(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
): Promise<void> {
  await sql`
    update schedules s set after_email = coalesce((
      select max(c.email) from audience_contacts c where c.audience_id = s.audience_id and c.email < ${email}), '')
    where s.workspace_id = ${workspaceId} and s.after_email = ${email}
  `.execute(trx)
}
