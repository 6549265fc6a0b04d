// Tokens, seals and return paths: genuine ones are accepted, all others are not.
import { describe, expect, test } from 'vitest'
import { parseVerp, verpAddress } from '../../../mail/tracking/mailboxes.ts'
import { newOpaqueToken } from '../../../mail/tracking/tokens.ts'
import type { KeyPurpose } from '../../../rules/wire.ts'
import { createSecrets, SecretError } from '../../../runtime/secrets.ts'

const secrets = createSecrets(Buffer.alloc(32, 1))
const others = createSecrets(Buffer.alloc(32, 2))
const verp = secrets.mac('verp')
const verpCheck = secrets.macCheck('verp')
const otherCheck = others.macCheck('verp')

test('opaque tokens are 128 bits of base64url and unique', () => {
  const tokens = new Set(Array.from({ length: 1000 }, newOpaqueToken))
  expect(tokens.size).toBe(1000)
  for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{22}$/)
})

test('each purpose and secret has its own key', () => {
  const macs = [secrets.mac('verp'), secrets.mac('tracking'), others.mac('verp')]
  expect(new Set(macs.map((mac) => mac('x', 32).toString('hex'))).size).toBe(3)
  expect(createSecrets(Buffer.alloc(32, 1)).mac('verp')('x', 32)).toEqual(macs[0]?.('x', 32))
})

test('what a key of before encrypted is decrypted, by whoever has that key', () => {
  const encrypted = secrets.encrypt('dkim-key', Buffer.from('x'))
  const keys = [Buffer.alloc(32, 3), Buffer.alloc(32, 1)]
  const rotated = createSecrets(Buffer.alloc(32, 2), keys)
  expect(rotated.decrypt('dkim-key', encrypted).toString()).toBe('x')
  expect(() => others.decrypt('dkim-key', encrypted)).toThrow(SecretError)
  expect(() => rotated.decrypt('verp', encrypted)).toThrow(SecretError)
  expect(rotated.mac('verp')('x', 32)).toEqual(others.mac('verp')('x', 32))
})

describe('seal', () => {
  test.each(['', 'x', '{"a":"ü\u0000"}', 'y'.repeat(10_000)])('opens again: %#', (text) => {
    const token = secrets.seal('cursor', text, 'ws_1:emails')
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(secrets.open('cursor', token, 'ws_1:emails')).toBe(text)
  })

  test('opens only with its own secret, purpose and context', () => {
    const token = secrets.seal('cursor', 'text', 'ab')
    expect(others.open('cursor', token, 'ab')).toBe(null)
    expect(secrets.open('else' as KeyPurpose, token, 'ab')).toBe(null)
    expect(secrets.open('cursor', token, 'a')).toBe(null)
    expect(secrets.open('cursor', token)).toBe(null)
    // context and text must not be confused
    expect(secrets.seal('cursor', 'bc', 'a')).not.toBe(secrets.seal('cursor', 'c', 'ab'))
  })

  test('opens only in its canonical spelling', () => {
    const token = secrets.seal('cursor', 'some text')
    for (let i = 0; i < token.length; i++) {
      const altered = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1)
      expect(secrets.open('cursor', altered)).toBe(null)
    }
    for (const bad of ['', 'A', `${token}=`, `${token} `, `${token}A`, token.slice(1), 'é', '/'])
      expect(secrets.open('cursor', bad)).toBe(null)
  })
})

describe('VERP', () => {
  test.each([1, 42, 2 ** 31, Number.MAX_SAFE_INTEGER])(
    'delivery %i is read from its return path',
    (id) => {
      const address = verpAddress(verp, id, 'bounces.a.test')
      expect(address).toMatch(/^b\+\d+\.[0-9a-f]{20}@bounces\.a\.test$/)
      expect(address.length).toBeLessThanOrEqual(64 + '@bounces.a.test'.length)
      expect(parseVerp(verpCheck, address)).toEqual({ deliveryId: id })
      expect(parseVerp(verpCheck, address.toUpperCase())).toEqual({ deliveryId: id })
    },
  )

  test('it is the same for every attempt', () => {
    expect(verpAddress(verp, 7, 'b.test')).toBe(verpAddress(verp, 7, 'b.test'))
  })

  test('forged, cut, of another delivery, domain or secret: null', () => {
    const address = verpAddress(verp, 12, 'b.test')
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
    for (const one of wrong) expect(parseVerp(verpCheck, one)).toBe(null)
    expect(parseVerp(otherCheck, address)).toBe(null)
  })
})
