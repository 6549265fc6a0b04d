// How replies in the style of large receivers are classified.
import { describe, expect, test } from 'vitest'
import { classifyReply, retriesExhausted, suppressionBy } from '../../../rules/mail/bounceRules.ts'
import type { Phase } from '../../../rules/mail/phases.ts'
import { expectLinear } from '../../setup/growth.ts'
import { answersOf } from './answers.ts'

function read(reply: string, rest: { phase?: Phase; ofRelay?: boolean } = {}) {
  const enhanced = /^\d{3}[ -](\d\.\d+\.\d+)/.exec(reply)?.[1] ?? null
  return classifyReply({ code: Number(reply.slice(0, 3)) || null, enhanced, reply, ...rest })
}
const classify = (...given: Parameters<typeof read>) => answersOf(read(...given))

test.each([
  // NoEmail
  ['550-5.1.1 The address that you tried does not exist here', 'Permanent/NoEmail final recipient'],
  ['553 5.1.3 bad recipient address syntax', 'Permanent/NoEmail final recipient'],
  ['551 5.1.6 the recipient has moved', 'Permanent/NoEmail final recipient'],
  ['550 5.2.1 The account is disabled', 'Permanent/NoEmail final recipient'],
  ['550 No such user here', 'Permanent/NoEmail final recipient'],
  ['550 <x@b.test>: User unknown', 'Permanent/NoEmail final recipient'],
  ['550 5.0.0 mailbox unavailable', 'Permanent/NoEmail final recipient'],
  ['550 5.4.1 Recipient address rejected: Access denied.', 'Permanent/NoEmail final recipient'],
  ['550 Unknown recipient', 'Permanent/NoEmail final recipient'],
  ['554 delivery error: this user does not exist', 'Permanent/NoEmail final recipient'],
  // General
  ['550 5.1.2 no such domain', 'Permanent/General final unknown'],
  ['556 5.1.10 the domain takes no mail', 'Permanent/General final recipient'],
  ['550 Requested action not taken', 'Permanent/General final unknown'],
  ['554 5.4.4 nothing found', 'Permanent/General final unknown'],
  // MailboxFull
  ['552 5.2.2 The mailbox is full', 'Transient/MailboxFull final mailbox'],
  ['452 4.2.2 Over quota', 'Transient/MailboxFull again mailbox'],
  ['452 insufficient system space for quota', 'Transient/MailboxFull again mailbox'],
  ['552 Quota exceeded', 'Transient/MailboxFull final mailbox'],
  ['550 user is over quota', 'Transient/MailboxFull final mailbox'],
  // MessageTooLarge
  ['552 5.3.4 larger than the limit', 'Transient/MessageTooLarge final content'],
  ['550 5.2.3 the message is too long for it', 'Transient/MessageTooLarge final content'],
  ['552 Message size exceeds fixed maximum', 'Transient/MessageTooLarge final content'],
  ['554 message too big', 'Transient/MessageTooLarge final content'],
  // AttachmentRejected
  [
    '552 5.7.0 Blocked: an attachment of this type may do harm',
    'Transient/AttachmentRejected final content',
  ],
  ['554 executable file type refused', 'Transient/AttachmentRejected final content'],
  // ContentRejected
  ['550 5.7.1 This looks like unsolicited mail', 'Transient/ContentRejected final content'],
  ['554 5.6.0 could not be parsed', 'Transient/ContentRejected final content'],
  ['554 Spam message rejected', 'Transient/ContentRejected final content'],
  ['550 5.7.350 rejected as spam', 'Transient/ContentRejected final content'],
  // about this service
  ['550-5.7.26 Neither SPF nor DKIM passed', 'Transient/General again ours sender'],
  ['550 5.7.515 below the required authentication level', 'Transient/General again ours sender'],
  ['554 5.7.1 blocked using zen.spamhaus.example', 'Transient/General again ours address'],
  ['550 your server is on our blacklist', 'Transient/General again ours address'],
  ['550 5.7.1 refused by the DMARC policy of the sender', 'Transient/General again ours sender'],
  ['530 5.7.0 Authentication required', 'Transient/General again ours account'],
  // words before codes
  ['552 5.1.1 the recipient is overquota', 'Transient/MailboxFull final mailbox'],
  ['550 5.2.1 mail at that rate is not taken', 'Transient/General final mailbox'],
  ['550 5.2.1 you are blacklisted', 'Transient/General again ours address'],
  ['550 5.1.1 Sender address rejected: User unknown', 'Transient/General again ours sender'],
  ['550 5.7.1 User unknown', 'Permanent/NoEmail final recipient'],
  ['550 A URL in this mail is on a blacklist', 'Transient/ContentRejected final content'],
  // said of the sender or the account, not of the recipient
  ['550 5.1.7 The sender email address is invalid', 'Transient/General again ours sender'],
  ['550 Sender unknown', 'Transient/General again ours sender'],
  ["550 The sender's domain does not exist", 'Transient/General again ours sender'],
  ['550 The return path is not an existing address', 'Transient/General again ours sender'],
  ['550 Your account is disabled', 'Transient/General again ours account'],
  ['550 This service is no longer available', 'Permanent/General final unknown'],
  ['550 5.1.1 ann is no longer available', 'Permanent/NoEmail final recipient'],
  // not final
  ['451 4.3.0 come back later', 'Transient/General again unknown'],
  ['450 4.1.1 unknown for now: no such user', 'Transient/General again unknown'],
  // a status that contradicts its code: the code ends the mail, and the address stays
  ['550 4.1.1 not taken at this time', 'Permanent/General final unknown'],
  ['550 4.2.1 not taken at this time', 'Permanent/General final unknown'],
  ['450 5.1.1 not taken at this time', 'Transient/General again unknown'],
  ['something without a status', 'Undetermined/Undetermined final unknown'],
])('%s: %s', (reply, expected) => {
  expect(classify(reply)).toBe(expected)
})

test.each([
  ['554 5.7.1 go away', 'banner', 'Transient/General again ours address'],
  ['421 4.3.2 full', 'banner', 'Transient/General again unknown'],
  ['550 no service for you', 'ehlo', 'Transient/General again ours address'],
  ['535 5.7.8 wrong password', 'ehlo', 'Transient/General again ours account'],
  ['550 5.1.1 no such user', 'mail', 'Transient/General again ours sender'],
  ['552 5.2.2 over quota', 'mail', 'Transient/General again ours sender'],
  ['452 4.3.1 insufficient system storage', 'mail', 'Transient/General again unknown'],
  ['552 5.3.4 too large', 'mail', 'Transient/MessageTooLarge final content'],
  ['553 5.6.7 no addresses outside ASCII', 'mail', 'Transient/ContentRejected final content'],
] as const)('%s at %s is never about the recipient', (reply, phase, expected) => {
  expect(classify(reply, { phase })).toBe(expected)
})

describe('a 5.7.1 without a word', () => {
  const reply = '550 5.7.1 Refused'
  const [account, content] = [
    'Transient/General again ours account',
    'Transient/ContentRejected final content',
  ]
  test.each([
    ['of a relay that has not seen the mail', { phase: 'mail', ofRelay: true }, account],
    [
      'of a relay that has seen no more than the recipient',
      { phase: 'rcpt', ofRelay: true },
      account,
    ],
    // Otherwise one customer's mail would close the relay to all others.
    ['of a relay that has read the mail', { phase: 'dot', ofRelay: true }, content],
    ['of a server of the recipient', { phase: 'rcpt', ofRelay: false }, content],
  ] as const)('%s', (_, rest, expected) => {
    expect(classify(reply, rest)).toBe(expected)
  })
})

test('an account that is closed is ours where the relay says it, the recipient’s elsewhere', () => {
  const reply = '550 This account has been disabled'
  for (const phase of ['mail', 'rcpt', 'dot'] as const) {
    expect(classify(reply, { phase, ofRelay: true })).toBe('Transient/General again ours account')
  }
  expect(classify(reply, { phase: 'rcpt' })).toBe('Permanent/NoEmail final recipient')
})

test('a sentence that the lines of a reply break is read as one', () => {
  const reply = [
    '550-5.2.1 The user you are trying to contact is receiving',
    '550-5.2.1 mail at a rate that prevents additional messages from being delivered.',
    '550 5.2.1 https://support.google.com/mail/?p=ReceivingRatePerm',
  ].join('\n')
  expect(classify(reply)).toBe('Transient/General final mailbox')
})

test('the name of a mailbox is no word of the server', () => {
  for (const name of ['spamhaus', 'over-quota', 'relay.denied', 'dmarc']) {
    expect(classify(`550 5.1.1 <${name}@b.test>: user unknown`)).toBe(
      'Permanent/NoEmail final recipient',
    )
  }
})

test('a report with only an enhanced status', () => {
  const answers = (enhanced: string) =>
    answersOf(classifyReply({ code: null, enhanced, reply: '' }))
  expect(answers('5.1.1')).toBe('Permanent/NoEmail final recipient')
  expect(answers('4.4.1')).toBe('Transient/General again unknown')
})

test('only the recipient suppresses, and only the mailbox counts as soft', () => {
  expect(suppressionBy(read('550 5.1.1 gone'))).toBe('for_good')
  expect(suppressionBy(read('552 5.2.2 full'))).toBe('soft')
  expect(suppressionBy(read('450 4.2.1 busy'))).toBe('soft')
  for (const reply of [
    '554 spam message rejected',
    '550 5.7.26 not authenticated',
    '451 4.3.0 later',
    '550 4.2.1',
    '550 no',
  ]) {
    expect(suppressionBy(read(reply)), reply).toBe('no')
  }
  expect(suppressionBy(retriesExhausted)).toBe('no')
})

test.each([
  'aaaa',
  'a@',
  'ip is ',
  'sender domain ',
  'relay ',
  'quota ',
  'tls/',
  'link in ',
  'too many concurrent ',
  'user ',
  'message ',
  'exceeded ',
  'no such ',
  'mailbox is ',
])('%j, over and over, costs what its size does', (piece) =>
  expectLinear((share) => classify(`550 ${piece.repeat(20_000 * share)}`)),
)

test.each([
  ['rcpt', '550 sender account has been suspended', 'ours'],
  ['rcpt', "550 5.7.1 The sender's account has been disabled", 'ours'],
  ['rcpt', '550 5.7.1 Your sending account is disabled', 'ours'],
  ['rcpt', '550 Originator address is unknown', 'ours'],
  ['rcpt', '550 Return-Path address unknown', 'ours'],
  ['dot', '554 5.7.1 Invalid address in From header', 'content'],
  ['dot', '550 5.7.1 Reply-To address does not exist', 'content'],
  ['dot', '550 5.6.0 Header "To" contains invalid address', 'content'],
  ['dot', '550 5.1.3 Invalid address in the Reply-To header', 'content'],
  ['rcpt', '550 5.1.1 account has been suspended', 'recipient'],
  ['dot', '550 5.1.1 unknown address', 'recipient'],
] as const)(
  'words about the sender or a field of the header suppress nobody: %s, %s',
  (phase, reply, fault) => {
    const enhanced = /^\d{3} (5\.\d\.\d)/.exec(reply)?.[1] ?? null
    const code = Number(reply.slice(0, 3))
    expect(classifyReply({ phase, code, enhanced, reply }).fault).toBe(fault)
  },
)
