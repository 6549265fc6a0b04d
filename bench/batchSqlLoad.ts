// A process that writes what batches write, by one statement for each hundred, as one would write it by hand.
import pg from 'pg'
import { shardOf } from '../rules/shard.ts'
import { createNewId } from '../runtime/ids.ts'
import type { BatchKind } from './batchLoad.ts'
import { type LoadBounds, type LoadResult, runLoad } from './load.ts'
import { BATCH, batchEmail, eventBody, SENDER } from './payloads.ts'
import { serve } from './remote.ts'

const newId = createNewId(() => new Date())

const EMAILS = `
  with given as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::text[])
      as g (id, subject, html, text, recipient, shard, destination, message_id)
  ), email as (
    insert into emails (id, workspace_id, type, category, "from", "to", cc, bcc, reply_to, subject, html, text,
      domain_id, headers, tags, metadata, message_id, track_opens, track_clicks, created_at)
    select id, $9, 'transactional', 'transactional', $10, array[recipient], '{}', '{}', '{}', subject, html, text,
      $11, '{}', '{}', '{}', message_id, false, false, now() from given
  ), delivery as (
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
      class, destination, ready)
    select id, $9, $11, recipient, shard, 'queued', now(), now() + interval '1 day', now(), 0, destination, true from given
  )
  insert into email_events (email_id, workspace_id, recipient, status, at, data)
  select id, $9, recipient, 'sent', now(), '{}' from given`

const EVENTS = `
  with given as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) as g (id, event_name, email, properties)
  ), contact as (
    update contacts c set event_count = c.event_count + 1, last_seen = now(), last_event = g.event_name, updated_at = now()
    from given g where c.workspace_id = $5 and c.email = g.email returning c.id, c.email
  )
  insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, properties, at, created_at,
    depth, historical)
  select g.id, $5, c.id, g.id, g.event_name, g.email, g.properties, now(), now(), 0, false
  from given g join contact c on c.email = g.email`

let pool: pg.Pool | undefined

function emailValues(serials: number[], workspaceId: string, domainId: string): unknown[] {
  const emails = serials.map(batchEmail)
  const domains = emails.map(({ to }) => to.slice(to.indexOf('@') + 1))
  const ids = emails.map(() => newId('email'))
  return [
    ids,
    emails.map(({ subject }) => subject),
    emails.map(({ html }) => html),
    emails.map(({ text }) => text),
    emails.map(({ to }) => to),
    domains.map(shardOf),
    domains,
    ids.map((id) => `${id}@sender.test`),
    workspaceId,
    SENDER,
    domainId,
  ]
}

function eventValues(serials: number[], workspaceId: string): unknown[] {
  const events = serials.map(eventBody)
  return [
    events.map(() => newId('automationEvent')),
    events.map(({ event_name }) => event_name),
    events.map(({ email }) => email),
    events.map(({ properties }) => JSON.stringify(properties)),
    workspaceId,
  ]
}

const handlers = {
  /** @returns how many statements, of `BATCH` items each */
  async run(input: {
    kind: BatchKind
    databaseUrl: string
    workspaceId: string
    domainId: string
    bounds: LoadBounds
    from: number
  }): Promise<LoadResult> {
    const { kind, databaseUrl, workspaceId, domainId, bounds, from } = input
    pool ??= new pg.Pool({ connectionString: databaseUrl, max: bounds.loops })
    const open = pool
    return runLoad(bounds, async (serial) => {
      const serials = Array.from({ length: BATCH }, (_, i) => from + serial * BATCH + i)
      const isEmails = kind === 'emails'
      const values = isEmails
        ? emailValues(serials, workspaceId, domainId)
        : eventValues(serials, workspaceId)
      await open.query({ name: kind, text: isEmails ? EMAILS : EVENTS, values })
    })
  },
}

export type BatchSqlLoad = typeof handlers

serve(handlers)
