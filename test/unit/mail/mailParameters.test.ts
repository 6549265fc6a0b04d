// What is said of a mail after its return path in MAIL, by what the server offers.
import { expect, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
import { mailParameters, RETURNED_BYTES_MAX } from '../../../mail/smtp/unsent.ts'
import type { Envelope } from '../../../mail/transport.ts'

const envelope: Envelope = { from: 'a@b.test', to: 'c@d.test', bytes: 5_000_000 }
const SIZE: [string, string] = ['SIZE', '10000000']

test.each<[string, [string, string][], string]>([
  ['nothing', [], ''],
  ['sizes', [SIZE], ' SIZE=5000000'],
  ['reports of bounces', [['DSN', '']], ' RET=HDRS'],
  ['both', [SIZE, ['DSN', '']], ' SIZE=5000000 RET=HDRS'],
])('a server that offers %s', (_, offered, said) => {
  expect(mailParameters(envelope, new Map(offered))).toBe(said)
})

test('of mail that a bounce may bring back whole nothing is asked', () => {
  // In base64 it is a third larger, and its report stands beside it.
  expect(RETURNED_BYTES_MAX * 1.5).toBeLessThan(MESSAGE_BYTES_MAX)
  const offered = new Map([['DSN', '']])
  const said = (bytes: number) => mailParameters({ ...envelope, bytes }, offered)
  expect(said(RETURNED_BYTES_MAX)).toBe('')
  expect(said(RETURNED_BYTES_MAX + 1)).toBe(' RET=HDRS')
})

test('what is asked stands before what is said of 8-bit characters', () => {
  const offered = new Map(['SIZE', 'DSN', '8BITMIME', 'SMTPUTF8'].map((name) => [name, '']))
  expect(mailParameters({ ...envelope, octets: 'utf8_header' }, offered)).toBe(
    ' SIZE=5000000 RET=HDRS BODY=8BITMIME SMTPUTF8',
  )
})
