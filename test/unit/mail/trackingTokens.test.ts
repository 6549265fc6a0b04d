// Tokens of pixels and links, and the mailbox of an unsubscribe token: what they carry, and that no other opens.
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseUnsubscribeMailbox, unsubscribeMailbox } from '../../../mail/token.ts'
import { clickToken, openToken, readTrackingToken } from '../../../mail/tracking/tokens.ts'

describe('tokens', () => {
  const secret = randomBytes(32)
  it('carry what they name, and nothing of another secret, kind or spelling opens', () => {
    for (const id of [1, 2 ** 32, 2 ** 48 - 1]) {
      expect(readTrackingToken(secret, openToken(secret, id))).toEqual({
        kind: 'open',
        deliveryId: id,
      })
      for (const index of [0, 9_999, 65_535]) {
        const click = clickToken(secret, id, index)
        expect(click).toMatch(/^[\w-]{34}$/)
        expect(readTrackingToken(secret, click)).toEqual({ kind: 'click', deliveryId: id, index })
        expect(readTrackingToken(randomBytes(32), click)).toBeNull()
      }
    }
  })

  it('are refused with any character changed, cut or added', () => {
    for (const token of [openToken(secret, 7), clickToken(secret, 7, 1)]) {
      for (let i = 0; i < token.length; i++) {
        for (const char of ['A', 'B', '_', '=', '%', '']) {
          const other = token.slice(0, i) + char + token.slice(i + 1)
          if (other !== token) expect(readTrackingToken(secret, other)).toBeNull()
        }
        expect(readTrackingToken(secret, token.slice(0, i))).toBeNull()
      }
      expect(readTrackingToken(secret, `${token}A`)).toBeNull()
      expect(readTrackingToken(secret, `${token}\n`)).toBeNull()
    }
  })
})

describe('the mailbox of an unsubscribe token', () => {
  it('comes back whatever case it is written in, and nothing else is one', () => {
    const token = randomBytes(16).toString('base64url')
    const address = unsubscribeMailbox(token, 'bounces.sender.test')
    expect(address).toMatch(/^u\+[0-9a-f]{32}@bounces\.sender\.test$/)
    expect(parseUnsubscribeMailbox(address)).toBe(token)
    expect(parseUnsubscribeMailbox(address.toUpperCase())).toBe(token)
    for (const other of [address.slice(1), address.replace('@', ''), `x${address}`, 'u+@x', ''])
      expect(parseUnsubscribeMailbox(other)).toBeNull()
  })
})
