// The values of secrets in what a server answers, in each form in which servers quote what they were sent.
import { expect, test } from 'vitest'
import { withoutSecrets } from '../../../activities/hideSecrets.ts'
import { expectLinear } from '../../setup/growth.ts'

const secret = 'p&ss "wö/rd\' (0815)~<1>'
const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')

test.each<[string, string]>([
  ['as it is', secret],
  ['percent-encoded', encodeURIComponent(secret)],
  [
    'percent-encoded in lower case',
    encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase()),
  ],
  ['of a form', new URLSearchParams({ a: secret }).toString().slice(2)],
  ['of a query', new URL(`http://a.test/?${encodeURIComponent(secret)}`).search.slice(1)],
  ['JSON', JSON.stringify(secret).slice(1, -1)],
  ['JSON within JSON', JSON.stringify({ a: secret })],
  ['JSON of PHP', JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')],
  ['JSON of Python', JSON.stringify(secret).slice(1, -1).replace('ö', '\\u00f6')],
  [
    'HTML',
    secret
      .replaceAll('&', '&amp;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;'),
  ],
  ['base64', base64(secret)],
  ['base64 after one character', base64(`u${secret}:more`)],
  ['base64 after two', base64(`u:${secret}!`)],
  ['base64url', Buffer.from(`u:${secret}`).toString('base64url')],
])('%s', (_name, form) => {
  const answered = {
    list: [`before ${form} after`, { [form]: form, plain: 'text', n: 1, none: null }],
  }
  const text = JSON.stringify(withoutSecrets(answered, [secret]))
  expect(text).toContain('[secret]')
  for (const part of [form, '0815', 'wö', 'rd']) expect(text).not.toContain(part)
  expect(text).toContain('"plain":"text","n":1,"none":null')
})

test('of two of which one holds the other nothing is left, and a number may be one', () => {
  expect(
    withoutSecrets({ a: 'key-12345-more', b: 812345678 }, [
      'key-12345',
      'key-12345-more',
      '1234567',
    ]),
  ).toEqual({
    a: '[secret]',
    b: '[secret]',
  })
})

test('a short value, and what has none in it, stay', () => {
  const value = { a: ['abc12', 5, true], __proto__x: null }
  expect(withoutSecrets(value, ['abc12', 'something else'])).toEqual(value)
})

test('the time grows with the sizes alone: a secret and an answer of one repeated character', () =>
  expectLinear((share) =>
    withoutSecrets({ body: 'a'.repeat(256 * 1024 * share) }, [`ab${'a'.repeat(8_190 * share)}`]),
  ))

test('the time grows with the sizes alone: secrets that begin as the answer does', () =>
  expectLinear((share) => {
    const secrets = Array.from({ length: 10 }, (_, i) => `${'a'.repeat(8_000 * share)}${i}`)
    withoutSecrets({ quoted: secrets, body: 'a'.repeat(170 * 1024 * share) }, secrets)
  }))

test('the time grows with the sizes alone: many quoted secrets beside many short values', () =>
  expectLinear((share) => {
    const secrets = Array.from({ length: 100 * share }, (_, i) => `k${i}é&'/ "<${i}`)
    const list = [...secrets, ...secrets.map(encodeURIComponent)]
    const short = Array.from({ length: 40_000 * share }, (_, i) => (i % 2 === 0 ? 1 : 'k1'))
    withoutSecrets([list, short], secrets)
  }))
