// How replies in the style of large receivers are classified.
import { describe, expect, test } from 'vitest'
import {
  classifyReply,
  isFinal,
  onSuppressionList,
  retriesExhausted,
} from '../../../rules/mail/bounceRules.ts'
import type { Phase } from '../../../rules/mail/phases.ts'
import { expectLinear } from '../../setup/growth.ts'

function classify(reply: string, phase?: Phase) {
  const enhanced = /^\d{3}[ -](\d\.\d+\.\d+)/.exec(reply)?.[1] ?? null
  const code = Number(reply.slice(0, 3)) || null
  const { type, subtype, suppress, ours } = classifyReply({
    code,
    enhanced,
    reply,
    ...(phase ? { phase } : {}),
  })
  return `${type}/${subtype}${suppress ? ' suppress' : ''}${ours ? ' ours' : ''}`
}

test.each([
  // NoEmail
  ['550-5.1.1 The address that you tried does not exist here', 'Permanent/NoEmail suppress'],
  ['553 5.1.3 bad recipient address syntax', 'Permanent/NoEmail suppress'],
  ['551 5.1.6 the recipient has moved', 'Permanent/NoEmail suppress'],
  ['550 5.2.1 The account is disabled', 'Permanent/NoEmail suppress'],
  ['550 No such user here', 'Permanent/NoEmail suppress'],
  ['550 <x@b.test>: User unknown', 'Permanent/NoEmail suppress'],
  ['550 5.0.0 mailbox unavailable', 'Permanent/NoEmail suppress'],
  ['550 5.4.1 Recipient address rejected: Access denied.', 'Permanent/NoEmail suppress'],
  ['550 Unknown recipient', 'Permanent/NoEmail suppress'],
  ['554 delivery error: this user does not exist', 'Permanent/NoEmail suppress'],
  // General
  ['550 5.1.2 no such domain', 'Permanent/General suppress'],
  ['556 5.1.10 the domain takes no mail', 'Permanent/General suppress'],
  ['550 Requested action not taken', 'Permanent/General suppress'],
  ['554 5.4.4 nothing found', 'Permanent/General suppress'],
  // MailboxFull
  ['552 5.2.2 The mailbox is full', 'Transient/MailboxFull'],
  ['452 4.2.2 Over quota', 'Transient/MailboxFull'],
  ['452 insufficient system space for quota', 'Transient/MailboxFull'],
  ['552 Quota exceeded', 'Transient/MailboxFull'],
  ['550 user is over quota', 'Transient/MailboxFull'],
  // MessageTooLarge
  ['552 5.3.4 larger than the limit', 'Transient/MessageTooLarge'],
  ['550 5.2.3 the message is too long for it', 'Transient/MessageTooLarge'],
  ['552 Message size exceeds fixed maximum', 'Transient/MessageTooLarge'],
  ['554 message too big', 'Transient/MessageTooLarge'],
  // AttachmentRejected
  ['552 5.7.0 Blocked: an attachment of this type may do harm', 'Transient/AttachmentRejected'],
  ['554 executable file type refused', 'Transient/AttachmentRejected'],
  // ContentRejected
  ['550 5.7.1 This looks like unsolicited mail', 'Transient/ContentRejected'],
  ['554 5.6.0 could not be parsed', 'Transient/ContentRejected'],
  ['554 Spam message rejected', 'Transient/ContentRejected'],
  ['550 5.7.350 rejected as spam', 'Transient/ContentRejected'],
  // about this service
  ['550-5.7.26 Neither SPF nor DKIM passed', 'Transient/General ours'],
  ['550 5.7.515 below the required authentication level', 'Transient/General ours'],
  ['554 5.7.1 blocked using zen.spamhaus.example', 'Transient/General ours'],
  ['550 your server is on our blacklist', 'Transient/General ours'],
  ['550 5.7.1 refused by the DMARC policy of the sender', 'Transient/General ours'],
  ['530 5.7.0 Authentication required', 'Transient/General ours'],
  // not final
  ['451 4.3.0 come back later', 'Transient/General'],
  ['450 4.1.1 unknown for now: no such user', 'Transient/General'],
  ['something without a status', 'Undetermined/Undetermined'],
])('%s: %s', (reply, expected) => {
  expect(classify(reply)).toBe(expected)
})

describe('phases before the recipient', () => {
  test.each([
    ['554 5.7.1 go away', 'banner', 'Transient/ContentRejected'],
    ['550 no service for you', 'ehlo', 'Transient/General ours'],
    ['550 5.1.1 no such sender', 'mail', 'Transient/General ours'],
    ['552 5.3.4 too large', 'mail', 'Transient/MessageTooLarge'],
  ] as const)('%s at %s never suppresses', (reply, phase, expected) => {
    expect(classify(reply, phase)).toBe(expected)
  })
})

test('a report with only an enhanced status', () => {
  expect(classifyReply({ code: null, enhanced: '5.1.1', reply: '' })).toMatchObject({
    subtype: 'NoEmail',
    suppress: true,
  })
  expect(classifyReply({ code: null, enhanced: '4.4.1', reply: '' })).toMatchObject({
    type: 'Transient',
    subtype: 'General',
  })
})

test('which refusals end a delivery', () => {
  expect(isFinal({ phase: 'rcpt', code: 550 })).toBe(true)
  expect(isFinal({ phase: 'mail', code: 552 })).toBe(true)
  expect(isFinal({ phase: 'dot', code: 451 })).toBe(false)
  for (const phase of ['connect', 'banner', 'ehlo', 'tls'] as const) {
    expect(isFinal({ phase, code: 554 })).toBe(false)
  }
})

test('bounces without a reply', () => {
  expect(retriesExhausted).toMatchObject({ type: 'Transient', subtype: 'General', suppress: false })
  expect(onSuppressionList).toMatchObject({ subtype: 'OnAccountSuppressionList', suppress: false })
})

test.each(['user ', 'message ', 'exceeded ', 'no such ', 'mailbox is '])(
  '%j, over and over, costs what its size does',
  (piece) => expectLinear((share) => classify(`550 ${piece.repeat(20_000 * share)}`)),
)
