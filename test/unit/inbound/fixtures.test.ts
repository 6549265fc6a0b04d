// Reports in the form of real receiving systems, one file each, and what is read from them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseReport } from '../../../mail/reports/parseReport.ts'
import { summary } from './summary.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'fixtures', 'reports')

const expected: Record<string, string> = {
  // Reports of delivery status
  postfix: 'bounce 5.1.1 Permanent/NoEmail recipient',
  'postfix-delayed': 'nothing delayed',
  'postfix-expired': 'bounce 4.4.1 Transient/General unknown',
  zimbra: 'bounce 5.2.2 Transient/MailboxFull mailbox',
  exim: 'bounce 5.0.0 Permanent/NoEmail recipient',
  office365: 'bounce 5.1.10 Permanent/NoEmail recipient',
  'office365-closed': 'bounce 5.4.1 Permanent/NoEmail recipient',
  'office365-banned': 'bounce 5.7.606 Transient/General ours address',
  'exchange-attachment': 'bounce 5.7.1 Transient/AttachmentRejected content',
  gmail: 'bounce 5.1.1 Permanent/NoEmail recipient',
  'gmail-spam': 'bounce 5.7.1 Transient/ContentRejected content',
  'gmail-auth': 'bounce 5.7.26 Transient/General ours sender',
  yahoo: 'bounce 5.0.0 Permanent/NoEmail recipient',
  ses: 'bounce 5.3.4 Transient/MessageTooLarge content',
  sendmail: 'bounce 5.1.1 Permanent/NoEmail recipient',
  'sendmail-warning': 'nothing delayed',
  fastmail: 'bounce 5.2.1 Permanent/NoEmail recipient',
  icloud: 'bounce 5.1.0 Permanent/NoEmail recipient',
  utf8: 'bounce 5.1.1 Permanent/NoEmail recipient',
  delivered: 'nothing delivered',
  relayed: 'nothing relayed',
  expanded: 'nothing expanded',
  // Bounces as text
  qmail: 'bounce 5.1.1 Permanent/NoEmail recipient',
  'qmail-remote': 'bounce 5.2.2 Transient/MailboxFull mailbox',
  'qmail-words': 'bounce - Undetermined/Undetermined unknown',
  'exim-text': 'bounce 5.1.1 Permanent/NoEmail recipient',
  'exim-text-delay': 'nothing delayed',
  'exchange-text': 'bounce - Permanent/NoEmail recipient',
  domino: 'bounce - Permanent/NoEmail recipient',
  // Complaints
  'outlook-fbl': 'complaint abuse',
  'yahoo-cfl': 'complaint abuse',
  'not-spam': 'nothing feedback',
  'auth-failure': 'nothing feedback',
  // Answers
  vacation: 'nothing auto_reply',
  'out-of-office': 'nothing auto_reply',
  person: 'nothing unrecognized',
}

test('every file has an expectation', () => {
  const files = readdirSync(FOLDER).map((file) => file.replace('.eml', ''))
  expect(Object.keys(expected).sort()).toEqual(files.sort())
})

test.each(Object.entries(expected))('%s: %s', async (name, what) => {
  const text = readFileSync(join(FOLDER, `${name}.eml`), 'utf8')
  const overTheWire = Buffer.from(text.replaceAll('\n', '\r\n'))
  expect(summary(await parseReport(overTheWire))).toBe(what)
  // With bare line feeds the result is the same.
  expect(summary(await parseReport(Buffer.from(text)))).toBe(what)
})
