// Tokens, seals and return paths: what we made opens, everything else does not.
import { describe, expect, test } from 'vitest'
import {
  deriveKey,
  newOpaqueToken,
  open,
  parseVerp,
  seal,
  verpAddress,
} from '../../../mail/token.ts'

const secret = Buffer.alloc(32, 1)
const other = Buffer.alloc(32, 2)

test('opaque tokens are 128 bits of base64url, never twice', () => {
  const tokens = new Set(Array.from({ length: 1000 }, newOpaqueToken))
  expect(tokens.size).toBe(1000)
  for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{22}$/)
})

test('each purpose and secret has its own key', () => {
  const keys = [deriveKey(secret, 'a'), deriveKey(secret, 'b'), deriveKey(other, 'a')]
  expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(3)
  expect(keys.every((key) => key.length === 32)).toBe(true)
  expect(deriveKey(Buffer.from(secret), 'a')).toEqual(keys[0])
})

describe('seal', () => {
  test.each(['', 'x', '{"a":"ü\u0000"}', 'y'.repeat(10_000)])('opens again: %#', (text) => {
    const token = seal(secret, 'cursor', text, 'ws_1:emails')
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(open(secret, 'cursor', token, 'ws_1:emails')).toBe(text)
  })

  test('opens for its own secret, purpose and context alone', () => {
    const token = seal(secret, 'cursor', 'text', 'ab')
    expect(open(other, 'cursor', token, 'ab')).toBe(null)
    expect(open(secret, 'else', token, 'ab')).toBe(null)
    expect(open(secret, 'cursor', token, 'a')).toBe(null)
    expect(open(secret, 'cursor', token)).toBe(null)
    // a context that runs into the text must not make the same seal
    expect(seal(secret, 'cursor', 'bc', 'a')).not.toBe(seal(secret, 'cursor', 'c', 'ab'))
  })

  test('no spelling but its own opens', () => {
    const token = seal(secret, 'cursor', 'some text')
    for (let i = 0; i < token.length; i++) {
      const altered = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1)
      expect(open(secret, 'cursor', altered)).toBe(null)
    }
    for (const bad of ['', 'A', `${token}=`, `${token} `, `${token}A`, token.slice(1), 'é', '/'])
      expect(open(secret, 'cursor', bad)).toBe(null)
  })
})

describe('VERP', () => {
  test.each([1, 42, 2 ** 31, Number.MAX_SAFE_INTEGER])('delivery %i comes back', (id) => {
    const address = verpAddress(secret, id, 'bounces.a.test')
    expect(address).toMatch(/^b\+\d+\.[0-9a-f]{20}@bounces\.a\.test$/)
    expect(address.length).toBeLessThanOrEqual(64 + '@bounces.a.test'.length)
    expect(parseVerp(secret, address)).toEqual({ deliveryId: id })
    expect(parseVerp(secret, address.toUpperCase())).toEqual({ deliveryId: id })
  })

  test('it is the same for every attempt', () => {
    expect(verpAddress(secret, 7, 'b.test')).toBe(verpAddress(secret, 7, 'b.test'))
  })

  test('forged, cut, of another delivery, domain or secret: null', () => {
    const address = verpAddress(secret, 12, 'b.test')
    const wrong = [
      '',
      '@b.test',
      'b+12@b.test',
      'b+12.00000000000000000000@b.test',
      address.replace('+12.', '+13.'),
      address.replace('+12.', '+012.'),
      address.replace('b.test', 'c.test'),
      address.replace('b+', 'c+'),
      address.slice(1),
      address.split('@')[0] ?? '',
      `x${address}`,
    ]
    for (const one of wrong) expect(parseVerp(secret, one)).toBe(null)
    expect(parseVerp(other, address)).toBe(null)
  })
})
