// What becomes of a message, mailbox by mailbox: everything that it says is committed before it is taken.
import type { SMTPServerSession } from 'smtp-server'
import type { Taken } from '../../commands/reports/take.ts'
import { isFeedback, parseReport } from '../../mail/reports/parseReport.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import type { Log } from '../../runtime/log.ts'
import { SmtpRefusal } from '../refusal.ts'
import { toAscii } from '../toAscii.ts'
import type { createFeedback, FeedbackTaken } from './feedback.ts'
import type { createPostmaster } from './postmaster.ts'
import { createReadBound } from './readBound.ts'
import type { createMailboxes, Mailbox } from './recipients.ts'

export interface ReceiverDeps {
  log: Log
  now: () => Date
  /** Commits what a report says about a delivery. Throws if it could not be committed. */
  take: (deliveryId: number, report: InboundReport) => Promise<Taken>
  /** Commits the unsubscription of the contact whose email has this token; false if there is no such email. */
  unsubscribe: (token: string) => Promise<boolean>
  /** Called for each report that was committed or that acts on nothing, for the metrics. */
  count: (report: InboundReport, taken: FeedbackTaken) => void
}

interface Mailboxes {
  mailboxOf: ReturnType<typeof createMailboxes>
  feedback: ReturnType<typeof createFeedback>
  postmaster: ReturnType<typeof createPostmaster> | null
}

/** To one return path, in a minute: a mail has one or two reports, of up to 1 MiB. */
const PATH_BYTES_MAX = 2 * 1024 * 1024

type Session = Pick<SMTPServerSession, 'envelope' | 'hostNameAppearsAs' | 'remoteAddress'>

/**
 * Makes a function that handles a whole message. It resolves when everything that the message says is committed, and
 * the postmaster's server has taken what is for them. A message that comes again changes nothing but that.
 */
export function createReceiver(deps: ReceiverDeps, { mailboxOf, feedback, postmaster }: Mailboxes) {
  async function takeReport(id: number, report: InboundReport): Promise<void> {
    const taken = await deps.take(id, report)
    deps.count(report, taken)
    deps.log.info({ delivery_id: id, taken, ...summaryOf(report) }, 'a report came back')
    if (taken === 'under_way') {
      throw new SmtpRefusal(451, '4.3.0 That mail is still under way, try again later')
    }
  }

  async function takeFeedback(raw: Buffer, remoteAddress: string): Promise<void> {
    const { report, deliveryId } = await feedback(raw, remoteAddress)
    if (deliveryId !== null) return takeReport(deliveryId, report)
    const taken = report.kind === 'nothing' ? 'ignored' : 'unmatched'
    deps.count(report, taken)
    deps.log.info({ taken, ...summaryOf(report) }, 'a report of a feedback loop acts on nothing')
  }

  // Who has got a mail knows its return path for ever, and may send anything to it from any address; a relay returns all mail from one.
  const allowReading = createReadBound({ now: deps.now, pathBytesMax: PATH_BYTES_MAX })

  async function takeReports(
    raw: Buffer,
    ids: number[],
    { envelope: { mailFrom }, remoteAddress }: Session,
  ): Promise<void> {
    allowReading(raw, remoteAddress, ids)
    const report = await parseReport(raw)
    const fromNobody = mailFrom !== false && toAscii(mailFrom.address) === ''
    if (!fromNobody && !isFeedback(report)) {
      throw new SmtpRefusal(550, '5.7.1 Only reports are taken here, from the null sender')
    }
    for (const id of ids) await takeReport(id, report)
  }

  /** @throws SmtpRefusal with the reply for a message that is not taken */
  return async (raw: Buffer, session: Session): Promise<void> => {
    const { mailFrom, rcptTo } = session.envelope
    const from = mailFrom === false ? '' : toAscii(mailFrom.address)
    const named = rcptTo.flatMap(({ address }) => mailboxOf(address) ?? [])
    const has = (kind: Mailbox['kind']) => named.some((mailbox) => mailbox.kind === kind)
    for (const mailbox of named) {
      if (mailbox.kind === 'unsubscribe' && !(await deps.unsubscribe(mailbox.token))) {
        throw new SmtpRefusal(550, '5.1.1 No such mailbox')
      }
    }
    const ids = named.flatMap((mailbox) =>
      mailbox.kind === 'return_path' ? mailbox.deliveryId : [],
    )
    if (ids.length > 0) await takeReports(raw, ids, session)
    if (has('feedback')) await takeFeedback(raw, session.remoteAddress)
    if (has('postmaster')) {
      const { hostNameAppearsAs: helo, remoteAddress: address } = session
      await postmaster?.forward({ from, helo: String(helo), address, message: raw })
    }
  }
}

/** The parts of a report that may be logged. Its texts may hold addresses, so they are left out. */
function summaryOf(report: InboundReport): Record<string, string | null> {
  switch (report.kind) {
    case 'bounce':
      return {
        kind: report.kind,
        type: report.bounce.type,
        subtype: report.bounce.subtype,
        status: report.status,
      }
    case 'complaint':
      return { kind: report.kind, feedback_type: report.feedbackType }
    case 'nothing':
      return { kind: report.kind, what: report.what }
  }
}
