// Refusals of particular systems whose status alone is misleading: how each is classified.
import { expect, test } from 'vitest'
import { findStatus } from '../../../mail/reports/statusCodes.ts'
import { classifyReply } from '../../../rules/mail/bounceRules.ts'
import { expectLinear } from '../../setup/growth.ts'
import { answersOf } from '../rules/answers.ts'

const classify = (reply: string) => answersOf(classifyReply({ ...findStatus(reply), reply }))

test.each([
  // the mailbox exists and is busy
  [
    '550-5.2.1 The person gets mail, receiving mail at a rate beyond the usual',
    'Transient/General final mailbox',
  ],
  ['450 4.2.1 The person is receiving mail too quickly now', 'Transient/General again mailbox'],
  ['550 5.2.1 The account is closed', 'Permanent/NoEmail final recipient'],
  // null MX, and the meaning of the same status for Exchange
  ['556 5.1.10 The domain takes no mail', 'Permanent/General final recipient'],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; nobody here', 'Permanent/NoEmail final recipient'],
  // about the sender
  [
    '553 5.1.8 <a@b.test>: the domain of the sender is not found',
    'Transient/General again ours sender',
  ],
  ['501 5.1.7 Bad address of the sender', 'Transient/General again ours sender'],
  ['550 5.7.606 Access denied, banned sending IP', 'Transient/General again ours address'],
  ['550 5.7.705 Access denied, the tenant sends too much', 'Transient/General again ours account'],
  ['550 5.7.511 Access denied, banned sender', 'Transient/General again ours address'],
  ['550 5.7.0 Blocked, see https://ipcheck.proofpoint.com', 'Transient/General again ours address'],
  // expired
  ['550 5.4.7 The message expired', 'Transient/General final unknown'],
  ['554 4.4.7 The message expired', 'Transient/General final unknown'],
  // unknown recipient, in other words
  [
    '554 delivery error: This person does not have a b.test account',
    'Permanent/NoEmail final recipient',
  ],
  ['550 Sorry, no mailbox here by that name', 'Permanent/NoEmail final recipient'],
  ['550 User jo not listed in the Directory', 'Permanent/NoEmail final recipient'],
  ['550 unknown or illegal alias: jo@b.test', 'Permanent/NoEmail final recipient'],
  ['550 This account has been disabled', 'Permanent/NoEmail final recipient'],
])('%s: %s', (reply, expected) => {
  expect(classify(reply)).toBe(expected)
})

test.each<[string, number | null, string | null]>([
  ['550 5.1.1 who?', 550, '5.1.1'],
  ['smtp; 550-5.1.1 who?', 550, '5.1.1'],
  ['smtp;554 (who?)', 554, null],
  ['Remote host said: 552 no room', 552, null],
  ['(#5.1.1)', null, '5.1.1'],
  ['5.1.1', null, '5.1.1'],
  ['sent to 5.1.1.25', null, null],
  ['sent by 192.0.5.1.1', null, null],
  ['port 5500 at 10.550 or 1550 x', null, null],
  ['your order 450', null, null],
  ['', null, null],
])('the status of "%s"', (text, code, enhanced) => {
  expect(findStatus(text)).toEqual({ code, enhanced })
})

test.each(['does not have a ', 'not listed in ', 'account has been ', 'unknown or '])(
  '%j, over and over, costs what its size does',
  (piece) => expectLinear((share) => classify(`550 ${piece.repeat(20_000 * share)}`)),
)
