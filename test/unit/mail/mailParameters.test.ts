// What is said of a mail after its return path in MAIL, by what the server offers.
import { expect, test } from 'vitest'
import { mailParameters } from '../../../mail/smtp/unsent.ts'
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
