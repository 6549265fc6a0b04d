// Bounces as text that quote words of a delay are bounces; warnings that delivery is delayed are none.
import { expect, test } from 'vitest'
import { parseReport } from '../../../mail/reports/parseReport.ts'
import { summary } from './summary.ts'

const read = async (subject: string, ...lines: string[]) => {
  const head = ['From: Mail Delivery System <mailer-daemon@remote.test>', `Subject: ${subject}`]
  const type = 'Content-Type: text/plain; charset=utf-8'
  return summary(await parseReport(Buffer.from([...head, type, '', ...lines, ''].join('\r\n'))))
}

const noEmail = 'bounce 5.1.1 Permanent/NoEmail recipient'
const words = 'bounce - Permanent/NoEmail recipient'
const unknown = 'bounce - Undetermined/Undetermined unknown'
const general = 'Transient/General unknown'
const exim = 'This message was created automatically by mail delivery software.'

test.each<[string, string, string[], string]>([
  ['the subject', 'Undeliverable: Your delivery is delayed', ['550 5.1.1 no such user'], noEmail],
  ['a subject without a code', 'Undeliverable: Your delivery is delayed', ['It failed.'], unknown],
  [
    'what a server said at last',
    'failure notice',
    [
      'Hi. This is the qmail-send program at q.remote.test.',
      '<jo@remote.test>:',
      'Remote host said: 451 4.3.0 busy, message delayed',
      "I'm not going to try again; this message has been in the queue too long.",
    ],
    `bounce 4.3.0 ${general}`,
  ],
  [
    'what the returned message is about',
    'Your parcel',
    [
      'Your message did not reach some or all of the intended recipients.',
      '  Subject: Your parcel has not yet been delivered',
      'The recipient name is not recognized, user unknown.',
    ],
    words,
  ],
  [
    'a server, before it refused',
    'Mail delivery system',
    [exim, 'jo@remote.test: 550 5.1.1 unknown user', 'Delivery was delayed by an hour.'],
    noEmail,
  ],
])('a failure that quotes %s', async (_name, subject, lines, expected) => {
  expect(await read(subject, ...lines)).toBe(expected)
})

test.each<[string, string, string[]]>([
  [
    'Exim, of a mail whose subject has a number and a failure',
    'Warning: message 1abc-0000aa-00 delayed 24 hours',
    [
      exim,
      'A message that you sent has not yet been delivered to one or more of its recipients.',
      'The subject of the message is: 550 5.1.1 reasons and your 500 Euro voucher',
      '  Delay reason: 451 4.3.0 try later',
    ],
  ],
  [
    'Exim',
    'Warning: message 1abc-0000aa-00 delayed 24 hours',
    [
      exim,
      'A message that you sent has not yet been delivered to one or more of its recipients.',
      '  Delay reason: 451 4.3.0 try later',
    ],
  ],
  ['a subject alone', 'Delayed Mail (still being retried)', ['It waits.']],
  [
    'a system whose name stands in the subject',
    'Warning from the mail delivery system',
    ['421 4.4.2 timeout: it will be retried.'],
  ],
  [
    'sendmail of long ago',
    'Returned mail: warning: cannot send message for past 4 hours',
    ['**  THIS IS A WARNING MESSAGE ONLY  **', '421 4.4.1 store.remote.test: Deferred'],
  ],
  [
    'one that tries again although it was refused',
    'Delivery problem',
    [exim, '550 5.7.1 come back later', 'You do not need to resend your message.'],
  ],
  [
    'a message that could not be delivered yet',
    'Mail delivery problem',
    ['Your message to jo@remote.test could not be delivered: 450 4.2.0. We will keep trying.'],
  ],
])('a warning of %s is no bounce', async (_name, subject, lines) => {
  expect(await read(subject, ...lines)).toBe('nothing delayed')
})
