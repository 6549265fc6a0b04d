// What errors advise for addresses and domain names with letters beyond ASCII.
import { expect, test } from 'vitest'
import { addressAdvice, domainAdvice } from '../../../rules/asciiDomains.ts'

test.each([
  ['user@münchen.example', 'xn--mnchen-3ya.example'],
  ['User <user@MÜNCHEN.example>', 'xn--mnchen-3ya.example'],
  ['Zoë <zoe@bücher.example>', 'xn--bcher-kva.example'],
  ['ada@mail.例え.example', 'mail.xn--r8jz45g.example'],
  ['ada@mu\u0308nchen.example', 'xn--mnchen-3ya.example'],
])('%s: how its domain is written in ASCII', (given, ascii) => {
  expect(addressAdvice(given)).toBe(`, with the domain written as ${ascii}`)
})

test.each([
  'user@munich.example',
  'müller@munich.example',
  'müller@münchen.example',
  'a b@münchen.example',
  'user@münchen.example/path',
  'user@münchen.example:25',
  'user@münchen',
  'user@xn--ü.example',
  'münchen.example',
  'user@\u202emünchen.example',
  'user@münchen.example\r\n',
  'ada@a.test, eva@münchen.example',
  `user@${'ü'.repeat(100)}.example`,
  '',
  7,
  null,
  undefined,
  ['user@münchen.example'],
])('%j: no advice, since the domain is not the only fault', (given) => {
  expect(addressAdvice(given)).toBe('')
})

test('long texts are not looked at', () => {
  for (const given of [`${'a'.repeat(100_000)}@münchen.example`, '@'.repeat(100_000)]) {
    expect(addressAdvice(given)).toBe('')
  }
})

test('a domain name without an address: how it is written, or no advice where that is not the only fault', () => {
  expect(domainAdvice('münchen.example')).toBe(', written as xn--mnchen-3ya.example')
  for (const given of ['munich.example', 'münchen', 'https://münchen.example', 'ü'.repeat(300)]) {
    expect([given, domainAdvice(given)]).toEqual([given, ''])
  }
})
