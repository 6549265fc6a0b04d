// Queues deliveries by SQL and waits until they are settled, so that queueing is not part of the measurement.
import { sql } from 'kysely'
import { newEmail } from '../commands/emails/newEmail.ts'
import { transact } from '../commands/transact.ts'
import { insertEmail } from '../db/emails/insert.ts'
import { addressDomain } from '../rules/addresses.ts'
import { emailBody } from './payloads.ts'
import { waitFor } from './waitFor.ts'
import { newId, type Workspace } from './workspace.ts'

const DEADLINE_MS = 180_000

export interface LedgerLoad {
  count: number
  /** Whether each email but the first has a body that none had before, so that none comes from the worker's cache; false: all have one body. */
  distinct: boolean
  /** How many domains the recipients have; 300 when absent. */
  domains?: number
  /** The place of its class in `mailClasses`; transactional when absent. */
  class?: number
}

/** What delivering so many took. */
export interface Delivered {
  /** Emails per second, from the commit to the last settled delivery. */
  per_second: number
  /** Processor time of an email, µs. */
  cpu_us: number
}

/**
 * Queues emails and waits for them.
 * @param used seconds of processor time that the service has used so far
 */
export async function deliverLedger(
  workspace: Workspace,
  load: LedgerLoad,
  used: () => Promise<number>,
): Promise<Delivered> {
  const { db } = workspace
  const { rows: marks } = await sql<{ id: number }>`
    select coalesce(max(id), 0) as id from deliveries`.execute(db)
  const last = marks[0]?.id ?? 0
  await fill(workspace, load)
  const { count } = load
  const before_s = await used()
  const begin = Date.now()
  await sql`notify dripline_deliveries`.execute(db)
  const end = await waitFor(
    DEADLINE_MS,
    'all deliveries are settled',
    lookForEnd(workspace, { last, count }),
  )
  const used_s = (await used()) - before_s
  return {
    per_second: count / ((end - begin) / 1000),
    cpu_us: (used_s / count) * 1_000_000,
  }
}

/**
 * Makes a function for `waitFor`: when the last delivery after `last` was settled, in ms, or undefined while one is not. Each call goes on at
 * the first that was not at the call before, because to count all of them each time took a twentieth of both cores.
 */
function lookForEnd({ db }: Workspace, { last, count }: { last: number; count: number }) {
  let settledUntil = last
  return async (): Promise<number | undefined> => {
    const { rows: open } = await sql<{ id: number }>`
      select id from deliveries where id > ${settledUntil} and settled_at is null order by id limit 1`.execute(
      db,
    )
    const [first] = open
    if (first) {
      settledUntil = first.id - 1
      return undefined
    }
    const { rows } = await sql<{ delivered: number; last_at: Date }>`
      select count(*) filter (where state = 'delivered')::int as delivered, max(settled_at) as last_at
      from deliveries where id > ${last}`.execute(db)
    const [row] = rows
    if (row?.delivered !== count)
      throw new Error(`only ${row?.delivered} of ${count} were delivered`)
    return row.last_at.getTime()
  }
}

/** Writes one email like the API, and copies of its rows with other ids, in one transaction. */
export async function fill(workspace: Workspace, load: LedgerLoad): Promise<void> {
  const { count, distinct, domains = 300 } = load
  const email = emailOf(workspace)
  const { id } = email.row
  await transact({ db: workspace.db, wake: () => {} }, async ({ db: trx }) => {
    await insertEmail(trx, workspace.workspaceId, email)
    await sql`
      create temp table copies on commit drop as
      select n, ${id} || '-' || n as id, 'user-' || n || '@mail-' || n % ${domains}::int || '.example.test' as recipient,
        'mail-' || n % ${domains}::int || '.example.test' as destination
      from generate_series(2, ${count}::int) n`.execute(trx)
    await sql`
      insert into emails select r.*
      from emails e, copies c, jsonb_populate_record(e, jsonb_build_object('id', c.id,
        'message_id', c.id || '@sender.test', 'subject', e.subject || c.n, 'to', jsonb_build_array(c.recipient),
        'html', e.html || case when ${distinct} then '<p>' || c.id || '</p>' else '' end)) r
      where e.id = ${id}`.execute(trx)
    await sql`
      insert into deliveries overriding system value
      select n.*
      from deliveries d, copies c left join recipient_domains r on r.domain = c.destination and r.shard is not null,
        lateral jsonb_populate_record(d, jsonb_build_object('id', nextval(pg_get_serial_sequence('deliveries', 'id')),
          'email_id', c.id, 'recipient', c.recipient, 'shard', coalesce(r.shard, c.n % ${domains}::int % 64),
          'class', ${load.class ?? 0}::int, 'destination', coalesce(r.destination, c.destination))) n
      where d.email_id = ${id}`.execute(trx)
    await sql`
      insert into email_events overriding system value
      select n.*
      from email_events v, copies c, jsonb_populate_record(v, jsonb_build_object(
        'id', nextval(pg_get_serial_sequence('email_events', 'id')), 'email_id', c.id, 'recipient', c.recipient)) n
      where v.email_id = ${id}`.execute(trx)
  })
  await sql`analyze deliveries`.execute(workspace.db)
}

function emailOf({ domainId }: Pick<Workspace, 'domainId'>) {
  const { from, to, subject, html } = emailBody(1)
  const domain = {
    id: domainId,
    status: 'SUCCESS',
    open_tracking_enabled: false,
    click_tracking_enabled: false,
    tracking_host: null,
  } as const
  return newEmail(
    { newId, now: () => new Date(), config: { simulatorDomain: 'simulator.test' } },
    {
      category: 'transactional',
      from,
      to: [to],
      replyTo: [],
      content: { subject, html, text: null },
      templateId: null,
      domain,
      domainName: addressDomain(from),
      sentBy: null,
      unsubscribeToken: null,
      recipients: [to],
    },
  )
}
