// What real replies of real systems mean: the tables of test/fixtures/replies, each line of them.
import { expect, test } from 'vitest'
import { rejection } from '../../../mail/smtp/outcomes.ts'
import { classifyReply } from '../../../rules/mail/bounceRules.ts'
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
