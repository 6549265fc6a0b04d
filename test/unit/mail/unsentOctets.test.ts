// What a server must offer for mail outside ASCII, and what is said to it.
import { expect, test } from 'vitest'
import { mailParameters, refusedUnsent } from '../../../mail/smtp/unsent.ts'
import type { Envelope } from '../../../mail/transport.ts'

const message = Buffer.from('A: b\r\n\r\nbody\r\n')
const envelope = (octets?: Envelope['octets']): Envelope => ({
  from: 'a@b.test',
  to: 'c@d.test',
  bytes: message.length,
  octets,
})
const offering = (...names: string[]) => new Map(names.map((name) => [name, '']))

test('7-bit mail needs nothing', () => {
  expect(mailParameters(envelope(), offering('8BITMIME', 'SMTPUTF8'))).toBe('')
  expect(refusedUnsent({ envelope: envelope(), message }, offering())).toBeNull()
})

test('8-bit mail is announced, and goes to no server without 8BITMIME', () => {
  expect(mailParameters(envelope('eight_bit'), offering('8BITMIME'))).toBe(' BODY=8BITMIME')
  expect(
    refusedUnsent({ envelope: envelope('eight_bit'), message }, offering('8BITMIME')),
  ).toBeNull()
  expect(refusedUnsent({ envelope: envelope('eight_bit'), message }, offering())).toMatchObject({
    kind: 'rejected',
    code: 554,
    enhanced: '5.6.3',
  })
})

test('a UTF-8 header needs SMTPUTF8 too', () => {
  const all = offering('8BITMIME', 'SMTPUTF8')
  expect(mailParameters(envelope('utf8_header'), all)).toBe(' BODY=8BITMIME SMTPUTF8')
  expect(refusedUnsent({ envelope: envelope('utf8_header'), message }, all)).toBeNull()
  const without = refusedUnsent(
    { envelope: envelope('utf8_header'), message },
    offering('8BITMIME'),
  )
  expect(without).toMatchObject({ kind: 'rejected', code: 554, enhanced: '5.6.7' })
})
