// Audits: compares the answers of the API with the database and with what reached the SMTP server.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import type { Answered } from './load.ts'
import type { ReceivedMail, SmtpSink } from './smtp.ts'

export interface Audit {
  /** Faults as sentences; empty if all is well. */
  faults: string[]
  counts: Record<string, number>
}

interface LedgerRow {
  email_id: string
  message_id: string
  recipient: string
  state: string
  resent: number
  sent_events: number
  delivered_events: number
}

/** Audits emails: none may be lost, and one may arrive twice only if its unknown outcome was sent again. */
export async function auditMail(
  db: Db,
  sink: Pick<SmtpSink, 'mails'>,
  answered: Pick<Answered, 'emails'>,
): Promise<Audit> {
  const { rows } = await sql<LedgerRow>`
    select e.id as email_id, e.message_id, d.recipient, d.state, d.resent,
      count(*) filter (where v.status = 'sent') as sent_events,
      count(*) filter (where v.status = 'delivered') as delivered_events
    from emails e left join deliveries d on d.email_id = e.id
    left join email_events v on v.email_id = d.email_id and v.recipient = d.recipient
    group by e.id, d.id
  `.execute(db)
  const received = bySendingOf(sink.mails)
  const faults: string[] = []
  const counts = {
    emails: 0,
    deliveries: rows.length,
    received: 0,
    resent: 0,
    doubled: 0,
    unknown: 0,
  }
  const recipients = new Map<string, string[]>()

  for (const row of rows) {
    const name = `mail ${row.email_id} to ${row.recipient}`
    recipients.set(row.email_id, [...(recipients.get(row.email_id) ?? []), row.recipient])
    const copies = received.get(`${row.message_id} ${row.recipient}`) ?? []
    received.delete(`${row.message_id} ${row.recipient}`)
    counts.received += copies.length
    counts.resent += row.resent
    if (row.state === 'unknown') counts.unknown += 1
    else if (row.state !== 'delivered') faults.push(`${name} is ${row.state}`)
    if (row.sent_events !== 1 || row.delivered_events !== 1) {
      faults.push(
        `${name} has ${row.sent_events} sent and ${row.delivered_events} delivered events`,
      )
    }
    if (copies.length === 0 && row.state !== 'unknown') faults.push(`${name} never arrived`)
    if (copies.length > 1) counts.doubled += 1
    if (copies.length > 1 + row.resent) {
      const tried = await attemptsOf(db, row.email_id, row.recipient)
      const at = copies.map((copy) => copy.at.toISOString()).join(', ')
      faults.push(`${name} arrived ${copies.length} times (${at}), resent ${row.resent}: ${tried}`)
    }
    if (new Set(copies.map((copy) => copy.from + copy.raw.toString('latin1'))).size > 1) {
      faults.push(`${name}: its copies differ`)
    }
  }
  counts.emails = recipients.size
  for (const [id, wanted] of answered.emails) {
    const found = recipients.get(id)?.sort().join() ?? 'nothing'
    if (found !== [...wanted].sort().join()) faults.push(`mail ${id} was to ${wanted}: ${found}`)
  }
  for (const name of received.keys()) faults.push(`${name} arrived and is not in the database`)
  return { faults, counts }
}

/** The stored attempts of one delivery, for the text of a fault. */
async function attemptsOf(db: Db, emailId: string, recipient: string | null): Promise<string> {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', a.attempt, a.outcome, a.phase, a.started_at, a.ended_at, a.response) as line
    from deliveries d join delivery_attempts a on a.delivery_id = d.id
    where d.email_id = ${emailId} and d.recipient = ${recipient} order by a.attempt
  `.execute(db)
  return rows.map(({ line }) => line).join('; ')
}

/** Received mail by its sending: its Message-ID and recipient, with a space between. */
export function bySendingOf(mails: ReceivedMail[]): Map<string, ReceivedMail[]> {
  const found = new Map<string, ReceivedMail[]>()
  for (const mail of mails) {
    const id = /^Message-ID: <(.*)>\r$/im.exec(mail.raw.toString('latin1'))?.[1]
    const name = `${id} ${mail.to.join()}`
    found.set(name, [...(found.get(name) ?? []), mail])
  }
  return found
}

interface ExecutionAudit {
  id: string
  event_id: string
  ended_status: string | null
  step_count: number
  seqs: number[]
  nodes: string[]
  segments: number[]
  mails: string[]
}

/** Audits events: each is recorded once, with its executions once, and their steps, segments and emails once. */
export async function auditExecutions(
  db: Db,
  answered: Pick<Answered, 'events'>,
  expected: { nodes: string[]; mails: string[] },
): Promise<Audit> {
  const { rows } = await sql<ExecutionAudit>`
    select e.id, a.event_id, e.ended_status, e.step_count,
      array(select seq from execution_steps s where s.execution_id = e.id order by seq) as seqs,
      array(select node_id from execution_steps s where s.execution_id = e.id order by seq) as nodes,
      array(select segment from execution_segments s where s.execution_id = e.id order by segment)
        as segments,
      array(select node_id from emails m where m.execution_id = e.id order by node_id) as mails
    from executions e left join automation_events a on a.id = e.trigger_event_id
  `.execute(db)
  const faults: string[] = []
  for (const row of rows) {
    const fault = (text: string) => faults.push(`execution ${row.id} (${row.event_id}): ${text}`)
    if (row.ended_status !== 'COMPLETED') fault(`is ${row.ended_status}`)
    if (!isCount(row.seqs, 1) || row.seqs.length !== row.step_count) {
      fault(`${row.step_count} steps, numbered ${row.seqs}`)
    }
    if (!isCount(row.segments, 0)) fault(`has the segments ${row.segments}`)
    if (row.nodes.join() !== expected.nodes.join()) fault(`went through ${row.nodes}`)
    if (row.mails.join() !== [...expected.mails].sort().join()) fault(`wrote mail of ${row.mails}`)
  }
  const stored = await db.selectFrom('automation_events').select('event_id').execute()
  const known = new Set(stored.map((event) => event.event_id))
  for (const [eventId, executions] of answered.events) {
    if (!known.has(eventId)) faults.push(`event ${eventId} was answered and is lost`)
    const started = rows.filter((row) => row.event_id === eventId).map((row) => row.id)
    if (started.sort().join() !== [...executions].sort().join()) {
      faults.push(`event ${eventId} was answered with ${executions}, started ${started}`)
    }
  }
  const miscounted = await sql<{ email: string }>`
    select email from contacts c
    where event_count <> (select count(*) from automation_events a where a.contact_id = c.id)
  `.execute(db)
  for (const { email } of miscounted.rows) faults.push(`contact ${email}: event_count is wrong`)
  const executionMails = rows.reduce((sum, row) => sum + row.mails.length, 0)
  return { faults, counts: { events: known.size, executions: rows.length, executionMails } }
}

const isCount = (numbers: number[], from: number) =>
  numbers.length > 0 && numbers.every((number, i) => number === from + i)

/** Audits contacts: each delivered email has one email.delivered event. */
export async function auditMailEvents(db: Db): Promise<Audit> {
  const { rows } = await sql<{ id: string; recipient: string; state: string; told: number }>`
    select d.email_id as id, d.recipient, d.state, (
      select count(*) from automation_events a where a.contact_id = c.id
        and a.event_name = 'email.delivered' and a.properties->>'email_id' = d.email_id) as told
    from deliveries d
    join contacts c on c.workspace_id = d.workspace_id and c.email = lower(d.recipient)
  `.execute(db)
  const wanted = (state: string) => (state === 'delivered' || state === 'unknown' ? 1 : 0)
  const faults = rows
    .filter(({ state, told }) => told !== wanted(state))
    .map((row) => `mail ${row.id} to ${row.recipient} is ${row.state}, told ${row.told} times`)
  return { faults, counts: { told: rows.reduce((sum, row) => sum + row.told, 0) } }
}

/** Checks that nothing is under way. @throws Error that names what still is */
export async function expectDrained(db: Db): Promise<void> {
  const { rows } = await sql<{ what: string; count: number }>`
    select 'deliveries ' || state as what, count(*) as count from deliveries
    where state not in ('delivered', 'unknown', 'bounced', 'suppressed', 'cancelled') group by state
    union all select 'outbox rows', count(*) from outbox having count(*) > 0
    union all select 'executions', count(*) from executions where ended_status is null
      having count(*) > 0
  `.execute(db)
  if (rows.length > 0) {
    throw new Error(`still open: ${rows.map(({ what, count }) => `${count} ${what}`).join(', ')}`)
  }
}
