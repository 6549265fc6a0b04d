// Domains of addresses in ASCII: what is plain already is given back without a look at the rules of names.
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toAscii } from '../../../inbound/toAscii.ts'

test('it gives what the rules of names give, or the address as it is where they give nothing', () => {
  const label = fc.stringMatching(/^[a-zA-Z0-9-]{1,8}$/)
  const odd = fc.constantFrom(
    'xn--mnchen-3ya',
    'xn--',
    'xn--a',
    '0x1f',
    '127',
    'münchen',
    'a_b',
    '',
    'ß',
    'xn--ls8h',
  )
  const name = fc.array(fc.oneof({ weight: 3, arbitrary: label }, odd), {
    minLength: 1,
    maxLength: 4,
  })
  fc.assert(
    fc.property(name, (labels) => {
      const domain = labels.join('.')
      const ascii = domainToASCII(domain)
      expect(toAscii(`ada@${domain}`)).toBe(`ada@${ascii === '' ? domain : ascii}`)
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['Ada@EXAMPLE.Test', 'Ada@example.test'],
  ['ada@münchen.test', 'ada@xn--mnchen-3ya.test'],
  ['ada', 'ada'],
])('%s is %s', (address, ascii) => {
  expect(toAscii(address)).toBe(ascii)
})
