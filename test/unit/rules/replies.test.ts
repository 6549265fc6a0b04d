// What real replies of real systems mean: the tables of test/fixtures/replies, each line of them.
import { expect, test } from 'vitest'
import { rejection } from '../../../mail/smtp/outcomes.ts'
import { classifyReply, suppressionBy } from '../../../rules/mail/bounceRules.ts'
import { asia } from '../../fixtures/replies/asia.ts'
import { europe } from '../../fixtures/replies/europe.ts'
import { gateways } from '../../fixtures/replies/gateways.ts'
import { google } from '../../fixtures/replies/google.ts'
import { microsoft } from '../../fixtures/replies/microsoft.ts'
import { northAmerica } from '../../fixtures/replies/northAmerica.ts'
import { type RealReply, readReplies } from '../../fixtures/replies/read.ts'
import { relays } from '../../fixtures/replies/relays.ts'
import { servers } from '../../fixtures/replies/servers.ts'
import { answersOf } from './answers.ts'

const replies = [
  ...google,
  ...microsoft,
  ...northAmerica,
  ...europe,
  ...asia,
  ...gateways,
  ...servers,
  ...relays,
]

const read = ({ phase, reply, ofRelay }: RealReply) =>
  answersOf(classifyReply({ ...rejection(phase, reply), ofRelay }))

test('every reply means what its line says', () => {
  const wrong = replies
    .filter((reply) => read(reply) !== reply.answers)
    .map(
      (one) => `${one.system} | ${one.reply}\n  expected ${one.answers}\n  read     ${read(one)}`,
    )
  expect(wrong.join('\n')).toBe('')
})

// What a later server said stands in a report, without the phase.
test.each([
  ['5.1.7', 'smtp; 550 5.1.7 Invalid address'],
  ['5.1.8', 'smtp; 553 5.1.8 <ann@b.test>: unknown address'],
  ['5.1.7', 'smtp; 550 5.1.7 <ann@b.test>: Sender mailbox does not exist'],
  [null, '550 From: address invalid'],
  [null, '550 IP address not listed in DNS'],
  ['5.7.1', '554 5.7.1 The sending user is unknown'],
  [
    null,
    '550-Verification failed for <ann@b.test>\n550-Response: 550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup\n550 Sender verify failed',
  ],
])('what a report says of our side suppresses nobody: %s %s', (enhanced, reply) => {
  expect(suppressionBy(classifyReply({ code: 550, enhanced, reply }))).toBe('no')
})

test.each([
  ['rcpt', false, '550 Access from ip address 192.0.2.1 blocked'],
  ['dot', true, '550 5.7.1 You have reached your sending limit'],
  ['dot', true, '550 5.7.1 Email quota exceeded'],
] as const)(
  'a block of ours and a quota of our account end no mail: %s, of a relay: %s, %s',
  (phase, ofRelay, reply) => {
    const { fault, final } = classifyReply({ ...rejection(phase, reply), ofRelay })
    expect({ fault, final }).toEqual({ fault: 'ours', final: false })
  },
)

test('a full mailbox behind a relay is the mailbox still', () => {
  for (const reply of ['552 5.2.2 quota exceeded', '550 Recipient quota exceeded']) {
    const bounce = classifyReply({ ...rejection('dot', reply), ofRelay: true })
    expect(bounce.fault).toBe('mailbox')
  }
})

test('there are at least 250 replies of thirty systems, and none twice', () => {
  expect(replies.length).toBeGreaterThanOrEqual(250)
  expect(new Set(replies.map(({ system }) => system)).size).toBeGreaterThanOrEqual(30)
  const keys = replies.map(({ system, phase, ofRelay, reply }) =>
    [system, phase, ofRelay, reply].join('|'),
  )
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
})

test.each([
  ['a line before any system', 'Permanent/NoEmail final recipient | rcpt | 550 who?'],
  [
    'a phase that does not exist',
    '# Mail: its page\nPermanent/NoEmail final recipient | there | 550 who?',
  ],
  ['no reply', '# Mail: its page\nPermanent/NoEmail final recipient | rcpt'],
])('a table with %s is not read', (_, table) => {
  expect(() => readReplies(table)).toThrow('no reply of a system')
})
