// The table of the limits of sending, from the numbers that the code checks.
import { limits } from '../../rules/limits.ts'
import { expiry_ms } from '../../rules/mail/retry.ts'
import { scheduleAheadDaysMax } from '../../rules/mail/scheduledAt.ts'
import { markdownTable } from './markdown.ts'

const MEBIBYTE = 1024 * 1024
const HOUR_MS = 60 * 60 * 1000
const count = (value: number) => value.toLocaleString('en-US')
const mebibytes = (bytes: number) => `${count(bytes / MEBIBYTE)} MiB`

/** What one email, one template and one page of a list may hold. */
export function sendingLimitsTable(): string {
  return markdownTable(
    ['what', 'limit'],
    [
      [
        'recipients of one email (`to`, `cc` and `bcc` together)',
        count(limits.recipientsPerEmailMax),
      ],
      ['`html`, and `text`, of one email', mebibytes(limits.htmlBytesMax)],
      ['attachments of one email, as files', count(limits.attachmentsPerEmailMax)],
      ['attachments of one email together, decoded', mebibytes(limits.attachmentsBytesMax)],
      ['`headers` of one email', count(limits.headersPerEmailMax)],
      ['`tags` of one email', count(limits.tagsPerEmailMax)],
      ['days from now to `scheduled_at`', count(scheduleAheadDaysMax)],
      ['characters of a subject', count(limits.subjectCharsMax)],
      ['characters of an address', count(limits.addressCharsMax)],
      ['body of `POST /v1/emails`', mebibytes(limits.emailRequestBytesMax)],
      [
        'the same without `html`, `text` and the contents of attachments',
        mebibytes(limits.emailRestBytesMax),
      ],
      ['a message by SMTP', mebibytes(limits.submissionBytesMax)],
      ['body of every other request', mebibytes(limits.requestBytesMax)],
      [
        'levels of a body, and its characters `{ } [ ] , :` outside of texts',
        `${limits.bodyDepthMax}, ${count(limits.bodyMarksMax)}`,
      ],
      ['html or text of a template', mebibytes(limits.templateBytesMax)],
      ['a mail whose template has loops, all parts together', mebibytes(limits.renderedBytesMax)],
      ['tracked links of one email', count(limits.trackedLinksPerEmailMax)],
      ['opens and clicks stored for one recipient', count(limits.emailEventsPerRecipientMax)],
      ['contacts in one batch of an audience', count(limits.audienceContactsBatchMax)],
      [
        'items on one page of a list (audiences)',
        `${limits.pageSize} (${limits.audiencesPageSize})`,
      ],
      ['how long a mail is tried', `${count(expiry_ms.transactional / HOUR_MS)} hours`],
    ],
  )
}
