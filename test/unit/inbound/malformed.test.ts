// Malformed and unusual reports are read as well as possible.
import { describe, expect, test } from 'vitest'
import { parseReport } from '../../../mail/reports/parseReport.ts'
import { rawReport, rawStatus, statusReport } from './reports.ts'
import { summary } from './summary.ts'

const read = async (mail: string | Buffer) =>
  summary(await parseReport(typeof mail === 'string' ? Buffer.from(mail, 'latin1') : mail))

const noEmail = 'bounce 5.1.1 Permanent/NoEmail recipient'
const failed = ['Action: failed', 'Status: 5.1.1']
const delayed = ['Action: delayed', 'Status: 4.4.1']

describe('broken or odd', () => {
  test.each<[string, string, string]>([
    ['cut in the middle of its fields', statusReport().split('Diagnostic-Code')[0] ?? '', noEmail],
    ['cut before its fields', statusReport().split('Action')[0] ?? '', 'nothing unrecognized'],
    [
      'without a boundary: its words are read',
      rawReport(failed, 'multipart/report').replace(
        'Action: failed',
        'Delivery failed, 550 5.1.1 no such user',
      ),
      noEmail,
    ],
    ['without the last boundary', rawStatus(failed).replace('--b--', ''), noEmail],
    ['with a status alone', rawStatus(['Status: 5.1.1']), noEmail],
    ['with a temporary status alone', rawStatus(['Status: 4.4.1']), 'nothing delayed'],
    ['with a diagnosis alone', rawStatus(['Diagnostic-Code: smtp; 550 5.1.1 who?']), noEmail],
    [
      'without a status',
      rawStatus(['Action: failed']),
      'bounce - Undetermined/Undetermined unknown',
    ],
    [
      'without a status, with a diagnosis',
      rawStatus(['Action: failed', 'Diagnostic-Code: smtp; 452 4.2.2 full']),
      'bounce 4.2.2 Transient/MailboxFull mailbox',
    ],
    [
      'with a status that is none',
      rawStatus(['Action: failed', 'Status: bad']),
      'bounce - Undetermined/Undetermined unknown',
    ],
    [
      'with a success for status',
      rawStatus(['Action: failed', 'Status: 2.0.0']),
      'bounce 2.0.0 Undetermined/Undetermined unknown',
    ],
    ['with an action that is none', rawStatus(['Action: exploded', 'Status: 5.1.1']), noEmail],
    ['in capitals', rawStatus(['ACTION: FAILED', 'STATUS: 5.1.1']), noEmail],
    ['without blank lines', rawStatus(failed).replace('mx.test\r\n\r\n', 'mx.test\r\n'), noEmail],
    [
      'with an address for a status',
      rawStatus(['Action: failed', 'Diagnostic-Code: smtp; from 5.1.1.25']),
      'bounce - Undetermined/Undetermined unknown',
    ],
    [
      'of several recipients: the gravest counts',
      rawStatus(delayed, ['Action: delivered', 'Status: 2.0.0'], failed),
      noEmail,
    ],
    [
      'of several recipients, none of whom failed',
      rawStatus(['Action: relayed'], delayed),
      'nothing delayed',
    ],
    [
      'whose status and diagnosis contradict each other: the status',
      rawStatus(['Action: failed', 'Status: 4.4.7', 'Diagnostic-Code: smtp; 550 5.1.1 who?']),
      'bounce 4.4.7 Transient/General unknown',
    ],
    [
      'with 10,000 groups, the last one failed',
      rawStatus(...Array.from({ length: 10_000 }, () => delayed), failed),
      noEmail,
    ],
    [
      'in base64',
      rawReport([
        'Content-Type: message/delivery-status',
        'Content-Transfer-Encoding: base64',
        '',
        Buffer.from(`Reporting-MTA: dns; a\r\n\r\n${failed.join('\r\n')}\r\n`).toString('base64'),
      ]),
      noEmail,
    ],
    [
      'in what base64 is not',
      rawReport([
        'Content-Type: message/delivery-status',
        'Content-Transfer-Encoding: base64',
        '',
        '=?!*'.repeat(1000),
      ]),
      'bounce - Undetermined/Undetermined unknown',
    ],
    [
      'in an encoding that nobody knows',
      statusReport().replace(
        'Content-Type: message/delivery-status',
        'Content-Type: message/delivery-status; charset=x-klingon\r\nContent-Transfer-Encoding: x-rot13',
      ),
      noEmail,
    ],
    [
      'in ISO-2022-JP around its fields',
      statusReport()
        .replace('Content-Type: text/plain', 'Content-Type: text/plain; charset=iso-2022-jp')
        .replace('Something', '\u001b$B%a!<%k\u001b(B'),
      noEmail,
    ],
    [
      'with a part of another charset than it says',
      statusReport().replace('text/plain', 'text/plain; charset=utf-16'),
      noEmail,
    ],
    [
      'with bytes that are no text',
      statusReport().replace('user here', '\u00ff\u00fe\u0000\u0001'),
      noEmail,
    ],
    ['nested 50 deep', nested(50), 'nothing unreadable'],
    ['nested in a forward', nested(3), noEmail],
    [
      'with a header of 200 kB',
      `X-Long: ${'x'.repeat(200_000)}\r\n${statusReport()}`,
      'nothing unreadable',
    ],
    ['with 5,000 headers', `${'X-Many: x\r\n'.repeat(5000)}${statusReport()}`, noEmail],
    ['empty', '', 'nothing unrecognized'],
    ['of line ends', '\r\n'.repeat(1000), 'nothing unrecognized'],
    ['with a NUL', '\u0000', 'nothing unrecognized'],
  ])('%s', async (_, mail, expected) => {
    expect(await read(mail)).toBe(expected)
  })

  test('the text of the returned message is not part of the report', async () => {
    const inner = statusReport().replace('5.1.1', '5.2.2').replaceAll('=_b', '=_c')
    const forwarded = rawReport(['Content-Type: message/rfc822', '', inner])
    expect(await read(forwarded)).not.toContain('5.2.2')
  })
})

/** A delivery status report inside many levels of multipart. */
function nested(levels: number): string {
  const open = Array.from({ length: levels }, (_, i) =>
    [`Content-Type: multipart/mixed; boundary=n${i}`, '', `--n${i}`].join('\r\n'),
  )
  return `${open.join('\r\n')}\r\n${statusReport()}`
}
