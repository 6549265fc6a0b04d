// Audits what workers did that were killed: the ledger against what the SMTP server got, for each class of mail.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import { mailClasses } from '../../rules/mail/classes.ts'
import type { Gone } from './killLoad.ts'
import { bySendingOf } from './ledger.ts'
import type { SmtpSink } from './smtp.ts'

/** `rcpts`: how often the server was asked for them until then. */
export type Counted = Gone & { rcpts: number }

interface Row {
  email_id: string
  message_id: string
  recipient: string
  class: number
  state: string
  resent: number
  /** Attempts whose worker ended between the mark and the settlement. */
  ambiguous: number
  sent_events: number
  delivered_events: number
  bounced_events: number
}

interface KillCounts {
  mails: number
  arrived: number
  resent: number
  doubled: number
  unknown: number
  /** Of those that are unknown, how many had not arrived. */
  unknown_not_arrived: number
  stopped: number
  lost: number
}

/**
 * @param resends whether mail of a class is sent once more after an unknown outcome
 * @returns faults as sentences, empty if all is well, and counts
 */
export async function auditKills(
  db: Db,
  sink: Pick<SmtpSink, 'mails' | 'attempts'>,
  { resends, gone }: { resends: (place: number) => boolean; gone: readonly Counted[] },
): Promise<{ faults: string[]; counts: KillCounts }> {
  const { rows } = await sql<Row>`
    select d.email_id, e.message_id, d.recipient, d.class, d.state, d.resent,
      (select count(*)::int from delivery_attempts a where a.delivery_id = d.id and a.outcome = 'ambiguous') as ambiguous,
      count(*) filter (where v.status = 'sent')::int as sent_events,
      count(*) filter (where v.status = 'delivered')::int as delivered_events,
      count(*) filter (where v.status = 'bounced')::int as bounced_events
    from deliveries d join emails e on e.id = d.email_id
    left join email_events v on v.email_id = d.email_id and v.recipient = d.recipient
    group by d.id, e.id
  `.execute(db)
  const received = bySendingOf(sink.mails)
  const wentBy = new Map(gone.map(({ recipient, how }) => [recipient, how]))
  const faults: string[] = []
  const counts: KillCounts = {
    mails: rows.length,
    arrived: 0,
    resent: 0,
    doubled: 0,
    unknown: 0,
    unknown_not_arrived: 0,
    stopped: 0,
    lost: 0,
  }
  for (const row of rows) {
    const sending = `${row.message_id} ${row.recipient}`
    const copies = received.get(sending) ?? []
    received.delete(sending)
    const went = wentBy.get(row.recipient)
    const fault = (text: string) =>
      faults.push(
        `${mailClasses[row.class]} mail ${row.email_id} to ${row.recipient} (${row.state}, resent ${row.resent}, ` +
          `ambiguous ${row.ambiguous}, ${went ?? 'stayed'}): ${text}`,
      )
    counts.arrived += copies.length > 0 ? 1 : 0
    counts.resent += row.resent
    if (copies.length > 1) counts.doubled += 1
    if (copies.length > 1 + row.resent) fault(`arrived ${copies.length} times`)
    if (row.resent > (resends(row.class) ? 1 : 0)) fault('was sent again')
    if (row.resent > row.ambiguous) fault('was sent again without an unknown outcome')
    if (new Set(copies.map(({ from, raw }) => from + raw.toString('latin1'))).size > 1) {
      fault('its copies differ')
    }
    auditEnd(row, { copies: copies.length, went, isResent: resends(row.class) }, counts, fault)
  }
  for (const name of received.keys()) faults.push(`${name} arrived and is not in the ledger`)
  for (const { recipient, how, rcpts } of gone) {
    const asked = sink.attempts.get(recipient) ?? 0
    if (asked > rcpts)
      faults.push(`${recipient} ${how}, and was written to ${asked - rcpts} times after that`)
  }
  faults.push(...(await auditSuppressions(db, gone)))
  return { faults, counts }
}

/** Whether the end of a delivery is one that it may have, with its events. */
function auditEnd(
  row: Row,
  { copies, went, isResent }: { copies: number; went: Gone['how'] | undefined; isResent: boolean },
  counts: KillCounts,
  fault: (text: string) => void,
): void {
  const isStopped = row.state === 'cancelled' || row.state === 'suppressed'
  const events = [row.sent_events, row.delivered_events, row.bounced_events].join()
  if (events !== (isStopped ? '1,0,1' : '1,1,0')) fault(`has the events ${events}`)
  if (isStopped) {
    counts.stopped += 1
    if (row.state !== (went === 'left' ? 'cancelled' : 'suppressed') || !went) fault('was stopped')
    if (copies > row.ambiguous) fault('arrived, and no attempt says so')
  } else if (row.state === 'unknown') {
    counts.unknown += 1
    if (copies === 0) counts.unknown_not_arrived += 1
    if (row.ambiguous !== (isResent ? 2 : 1)) fault('is unknown')
  } else if (row.state === 'delivered') {
    if (copies > 0) return
    counts.lost += 1
    fault('never arrived')
  } else {
    counts.lost += 1
    fault('has not ended')
  }
}

/** Suppressed is who was suppressed by hand, and nobody else. */
async function auditSuppressions(db: Db, gone: readonly Gone[]): Promise<string[]> {
  const rows = await db.selectFrom('suppressions').select('email').execute()
  const wanted = new Set(
    gone.filter(({ how }) => how === 'suppressed').map(({ recipient }) => recipient),
  )
  const unwanted = rows.filter(({ email }) => !wanted.has(email))
  return unwanted.map(({ email }) => `${email} was suppressed by nobody`)
}
