// Writes an email: the row, its deliveries and first email events, in one statement.

import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { addressDomain } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type ClassedEmail, mailClass, mailClasses } from '../../rules/mail/classes.ts'
import { mailboxProvider } from '../../rules/mail/providers.ts'
import { shardOf } from '../../rules/shard.ts'
import type { Trx } from '../connect.ts'
import type { NewRow, Row } from '../schema.ts'
import { unseen } from '../unseen.ts'
import { SOURCE_SLICE_BYTES } from './sources.ts'

type NewAttachment = Omit<NewRow<'email_attachments'>, 'email_id' | 'position'>

/** An accepted email that is not written yet. */
export interface NewEmail {
  row: Omit<Row<'emails'>, 'workspace_id' | 'html' | 'text'> & {
    /** UTF-8 that is large goes to Postgres as it is; a string would be copied twice more. */
    html: string | Buffer | null
    text: string | Buffer | null
  }
  /** Bare addresses, each once, in the order in which they are to be shown. */
  recipients: string[]
  /** Those of them who are of the team, and not the contact for whom an execution sends it. */
  team: string[]
  /** Those of them who are test addresses, for which the lane answers. */
  simulated: string[]
  attachments: NewAttachment[]
  /** The whole message, which is sent as it is; absent: the message is composed from the row. */
  source?: Buffer
  /** When its first attempt is due. */
  dueAt: Date
  /** When it is no longer tried. */
  expiresAt: Date
}

/** HMACs for the recipients of an email, in their order; empty: there are none. */
export interface RecipientMacs {
  /** Of marketing mail, that of the address that the claim looks for among opt-outs. */
  left: readonly Buffer[]
  /** That of their own address, by which it is suppressed once it was erased. */
  own: readonly Buffer[]
}

/**
 * Writes an email with its attachments or the first slice of its source (`insertSourceRest` writes the others), one delivery for each recipient (`suppressed` for those on the
 * suppression list, else `queued`), and the email events `sent`, and `bounced` for the suppressed ones. Scheduled mail has `scheduled`
 * instead, whoever is suppressed: the claim looks when it is due.
 * One statement, so one commit where the caller has no transaction of its own. The caller wakes the lanes.
 * @param macs for each recipient
 */
export async function insertEmail(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: NewEmail,
  { left, own }: RecipientMacs = { left: [], own: [] },
): Promise<void> {
  const { row } = email
  const recipients = recipientRows(email)
  // Without them nobody could see that a recipient has left.
  if (row.category === 'marketing' && left.length !== recipients.length)
    throw new Error('marketing mail without MACs')
  const addresses = recipients.map(({ address }) => address)
  const shards = recipients.map(({ shard }) => shard)
  const domains = recipients.map(({ domain }) => domain)
  const keys = recipients.map(({ key }) => key)
  const ofTeam = recipients.map(({ to_team }) => to_team)
  const providers = recipients.map(({ provider }) => provider)
  const simulated = recipients.map(({ simulated }) => simulated)
  const given = sql`
    select ${row.id}::text as id, ${row.type}::text as type, ${row.category}::text as category,
      ${row.from}::text as "from", ${row.to}::text[] as "to", ${row.cc}::text[] as cc, ${row.bcc}::text[] as bcc,
      ${row.reply_to}::text[] as reply_to, ${row.subject}::text as subject,
      ${row.template_id}::text as template_id, ${row.domain_id}::text as domain_id,
      ${JSON.stringify(row.headers)}::jsonb as headers, ${JSON.stringify(row.tags)}::jsonb as tags,
      ${JSON.stringify(row.metadata)}::jsonb as metadata, ${row.message_id}::text as message_id,
      ${row.workflow_id}::text as workflow_id, ${row.execution_id}::text as execution_id,
      ${row.node_id}::text as node_id, ${row.unsubscribe_token}::text as unsubscribe_token,
      ${row.track_opens}::boolean as track_opens, ${row.track_clicks}::boolean as track_clicks,
      ${row.tracking_host}::text as tracking_host, ${row.scheduled_at}::timestamptz as scheduled_at, ${row.created_at}::timestamptz as created_at,
      ${classPlace(row)}::smallint as class, ${email.dueAt}::timestamptz as due_at,
      ${email.expiresAt}::timestamptz as expires_at`
  await writeGiven(trx, workspaceId, {
    given,
    // Not in the relation, which Postgres would write to a file for a large one.
    bodies: { html: sql`${row.html}::text`, text: sql`${row.text}::text` },
    recipients: sql`select ${row.id}::text as email_id, r.* from unnest(${unseen(sql`${addresses}::text[]`)},
      ${unseen(sql`${domains}::text[]`)}, ${unseen(sql`${shards}::smallint[]`)}, ${unseen(sql`${keys}::text[]`)},
      ${unseen(sql`${ofTeam}::boolean[]`)}, ${unseen(sql`${providers}::text[]`)}, ${unseen(sql`${simulated}::boolean[]`)},
      ${unseen(sql`${[...left]}::bytea[]`)}, ${unseen(sql`${[...own]}::bytea[]`)})
      with ordinality as r(address, domain, shard, key, to_team, provider, simulated, mac, own, position)`,
    further: sql`${attachments(row.id, email.attachments)}${firstSlice(row.id, email.source)}`,
  })
}

/** What a statement writes, as SQL. */
interface GivenEmails {
  /** A `select` of the columns of emails, without the bodies, and of `class`, `due_at` and `expires_at`. */
  given: RawBuilder<unknown>
  /** Expressions over `given`. */
  bodies: { html: RawBuilder<unknown>; text: RawBuilder<unknown> }
  /** A `select` of `email_id`, `address`, `domain`, `shard`, `key`, `to_team`, `provider`, `simulated`, `mac`, `own` and `position`. */
  recipients: RawBuilder<unknown>
  /** Further steps of the `with`, each after a comma. */
  further?: RawBuilder<unknown>
  /** A condition without columns of `given`: if it is false, no email is written. */
  precondition?: RawBuilder<SqlBool>
}

/**
 * Writes emails with what `insertEmail` says of one. Each recipient is looked for by itself, with a limit: a plan that is kept from when
 * a workspace had few suppressions would read all of them.
 * @returns false: the precondition did not hold
 */
export async function writeGiven(
  trx: Trx,
  workspaceId: WorkspaceId,
  { given, bodies, recipients, further = sql``, precondition }: GivenEmails,
): Promise<boolean> {
  const rows = precondition ? sql`select g.* from (${given}) g where ${precondition}` : given
  const { numAffectedRows } = await sql`
    with given as (${rows}), recipient as (
      select g.id, g.category, g.domain_id, g.workflow_id, g.execution_id, g.scheduled_at, g.created_at, g.class, g.due_at, g.expires_at,
        r.address, coalesce(k.shard, r.shard) as shard, r.mac, r.to_team, r.simulated, r.position,
        coalesce(k.provider, r.provider) as provider, case when k.shard is null then r.domain else k.destination end as destination,
        (s.email is not null or e.address_hmac is not null) and g.scheduled_at is null as suppressed, r.own
      from (${recipients}) r join given g on g.id = r.email_id
      left join lateral (select k.shard, k.provider, k.destination from recipient_domains k where k.domain = r.domain limit 1) k on true
      left join lateral (select s.email from suppressions s where s.workspace_id = ${workspaceId} and s.email = r.key
        and (s.expires_at is null or s.expires_at > g.created_at) limit 1) s on true
      left join lateral (select e.address_hmac from erased_suppressions e where e.workspace_id = ${workspaceId}
        and e.address_hmac = r.own and (e.expires_at is null or e.expires_at > g.created_at) limit 1) e on true
    ), email as (
      insert into emails (id, workspace_id, type, category, "from", "to", cc, bcc, reply_to, subject,
        html, text, template_id, domain_id, headers, tags, metadata, message_id, workflow_id,
        execution_id, node_id, unsubscribe_token, track_opens, track_clicks, tracking_host, scheduled_at, created_at)
      select id, ${workspaceId}, type, category, "from", "to", cc, bcc, reply_to, subject,
        ${bodies.html}, ${bodies.text}, template_id, domain_id, headers, tags, metadata, message_id,
        workflow_id, execution_id, node_id, unsubscribe_token, track_opens, track_clicks, tracking_host,
        scheduled_at, created_at
      from given
    ), delivery as (
      insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at,
        expires_at, created_at, settled_at, marketing, address_hmac, own_hmac, workflow_id, execution_id, class,
        destination, ready, to_team, scheduled, due_at, provider, simulated)
      select id, ${workspaceId}, domain_id, address, shard,
        case when suppressed then 'suppressed' else 'queued' end, due_at, expires_at, created_at,
        case when suppressed then created_at end, category = 'marketing', mac,
        case when own is distinct from mac then own end,
        case when category = 'marketing' then workflow_id end,
        case when category = 'marketing' then execution_id end, class, destination, due_at <= created_at, to_team,
        scheduled_at is not null, scheduled_at, provider, simulated
      from recipient order by id, position
    )${further}
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select id, ${workspaceId}, address, case when step = 1 and scheduled_at is not null then 'scheduled' else status end,
      created_at, data
    from recipient cross join (values
      (1, 'sent', '{}'::jsonb),
      (2, 'bounced', '{"type": "Permanent", "subtype": "OnAccountSuppressionList"}'::jsonb)
    ) as event(step, status, data)
    where status = 'sent' or suppressed
    order by id, step, position
  `.execute(trx)
  // Of email events, of which each email has one at least. Taken for none, an unknown count would have the emails written again.
  if (numAffectedRows === undefined) throw new Error('it is not known whether emails were written')
  return numAffectedRows > 0n
}

/** The place of an email's class in `mailClasses`. */
export const classPlace = (row: ClassedEmail) => mailClasses.indexOf(mailClass(row))

/** Each recipient with its domain and the domain's shard, the address by which it is suppressed, its place, whether it is of the team or a test address, and its provider. */
export function recipientRows({
  recipients,
  team,
  simulated,
}: Pick<NewEmail, 'recipients' | 'team' | 'simulated'>) {
  return recipients.map((address, position) => {
    const domain = addressDomain(address).toLowerCase()
    return {
      address,
      domain,
      shard: shardOf(domain),
      // By this suppressions are stored (`normalizeContactEmail`): the address was parsed when it was accepted.
      key: address.toLowerCase(),
      position,
      to_team: team.includes(address),
      provider: mailboxProvider(domain),
      simulated: simulated.includes(address),
    }
  })
}

function attachments(emailId: string, files: NewAttachment[]) {
  if (files.length === 0) return sql``
  const rows = files.map(
    (file, position) =>
      sql`(${emailId}, ${position}, ${file.filename}, ${file.content_type}, ${file.content_id},
        ${file.content})`,
  )
  return sql`, attachment as (
      insert into email_attachments (email_id, position, filename, content_type, content_id, content)
      values ${sql.join(rows)}
    )`
}

function firstSlice(emailId: string, source: Buffer | undefined) {
  if (!source) return sql``
  return sql`, source as (
      insert into email_sources (email_id, position, content)
      values (${emailId}, 0, ${source.subarray(0, SOURCE_SLICE_BYTES)})
    )`
}
