// The pattern of an address stays small whatever address its owner has chosen: Postgres takes as long to use it as it is large.
import { domainToASCII } from 'node:url'
import { expect, test } from 'vitest'
import { wholeAddress } from '../../db/contacts/wholeAddress.ts'

const labels = (letter: string, length: number) => Array(4).fill(letter.repeat(length)).join('.')
const addresses = {
  usual: 'ada.lovelace+news@sub.shop.example',
  'with letters to encode alone': `${"!'*+".repeat(16)}@${'a'.repeat(60)}.test`,
  'with a domain in Unicode': `ada@${domainToASCII('bücher.例え.test')}`,
  'with a long domain in Unicode': `ada@${domainToASCII(`${labels('ü', 45)}.de`)}`,
}

test.each(Object.entries(addresses))('%s', (_, email) => {
  const pattern = wholeAddress(email, 'javascript')
  expect(email.length).toBeLessThanOrEqual(320)
  expect(pattern.length).toBeLessThan(4_000)
  const whole = new RegExp(pattern, 'iu')
  for (const text of [email, email.toUpperCase(), encodeURIComponent(email)])
    expect(`to=${text}&x`).toMatch(whole)
  expect(`to=x${email}`).not.toMatch(whole)
  expect(`to=${email}x`).not.toMatch(whole)
})
