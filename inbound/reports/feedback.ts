// Reports of feedback loops to the mailbox that was registered with them: finds the delivery that one is about.
import type { Taken } from '../../commands/reports/take.ts'
import type { NamedMail } from '../../db/deliveries/reads.ts'
import { verifySigner } from '../../mail/dkim/verify.ts'
import type { Dns } from '../../mail/dns/resolver.ts'
import { type Feedback, parseFeedback } from '../../mail/reports/parseFeedback.ts'
import { parseVerp } from '../../mail/tracking/mailboxes.ts'
import type { MacCheck } from '../../rules/mac.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { SmtpRefusal } from '../refusal.ts'
import { createReadBound } from './readBound.ts'

export interface FeedbackDeps {
  verpCheck: MacCheck
  /** The mailbox, to which a report must have been written whose signature counts; null: there is none. */
  address: string | null
  /** The d= of the loops whose word is taken for a mail that only its Message-ID names. In lower case. */
  signers: readonly string[]
  dns: Pick<Dns, 'txt'>
  now: () => Date
  /** The delivery of the mail with that Message-ID and workspace, if the mail had one recipient. */
  findSoleDelivery: (named: NamedMail) => Promise<number | null>
}

/** `unmatched`: the report acts on nothing, since it names no mail that it may speak about. */
export type FeedbackTaken = Taken | 'unmatched'

/** Of one client, in a minute. */
const CLIENT_BYTES_MAX = 8 * 1024 * 1024
/** A small report counts as so much, for the questions to the DNS that it may cause: the address of this mailbox is known to everybody. */
const BYTES_MIN = 64 * 1024

/**
 * How old a signature may be (RFC 6376 section 8.6): what a loop has signed once can be sent here again by anybody who
 * has it. Loops send within hours, and try again for some days.
 */
const SIGNED_MS_MAX = 7 * 24 * 60 * 60_000

/**
 * Makes a function that reads a report and gives the delivery that it is about: that of a return path with a valid MAC
 * in the reported mail, whoever reports; without one that of its Message-ID and Feedback-ID, where a configured loop has signed the
 * report, with its To that is this mailbox, in the last seven days, and the mail had one recipient. Null: it acts on nothing.
 */
export function createFeedback(deps: FeedbackDeps) {
  /** @throws SmtpRefusal when the DNS does not say now whether the signature is valid */
  async function deliveryOf(raw: Buffer, { returnPaths, messageId, workspaceId }: Feedback) {
    const named = new Set(
      returnPaths.flatMap((path) => parseVerp(deps.verpCheck, path)?.deliveryId ?? []),
    )
    // Somebody wrote a second one into the mail: which is its own cannot be known.
    if (named.size > 1) return null
    for (const deliveryId of named) return deliveryId
    if (messageId === null || deps.signers.length === 0) return null
    const { dns, signers: domains, address: to } = deps
    if (to === null) return null
    const options = { domains, dns, now: deps.now(), to, ageMax_ms: SIGNED_MS_MAX }
    const verdict = await verifySigner(raw, options)
    if (verdict.kind === 'unanswered') {
      throw new SmtpRefusal(
        451,
        '4.4.3 The DNS does not answer for your signature, try again later',
      )
    }
    return verdict.kind === 'signed' ? deps.findSoleDelivery({ messageId, workspaceId }) : null
  }

  const allowReading = createReadBound({
    now: deps.now,
    clientBytesMax: CLIENT_BYTES_MAX,
    bytesMin: BYTES_MIN,
  })

  return async (
    raw: Buffer,
    remoteAddress: string,
  ): Promise<{ report: InboundReport; deliveryId: number | null }> => {
    allowReading(raw, remoteAddress)
    const feedback = await parseFeedback(raw)
    const { report } = feedback
    const deliveryId = report.kind === 'nothing' ? null : await deliveryOf(raw, feedback)
    return { report, deliveryId }
  }
}
