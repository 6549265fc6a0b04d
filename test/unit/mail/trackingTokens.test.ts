// Tokens of pixels and links, and the address of an unsubscribe token: what they contain, and that forged ones are
// refused.

import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseUnsubscribeMailbox, unsubscribeMailbox } from '../../../mail/tracking/mailboxes.ts'
import { clickToken, openToken, readTrackingToken } from '../../../mail/tracking/tokens.ts'
import { createSecrets } from '../../../runtime/secrets.ts'

describe('tokens', () => {
  const secrets = createSecrets(randomBytes(32))
  const mac = secrets.mac('tracking')
  const check = secrets.macCheck('tracking')
  const otherCheck = () => createSecrets(randomBytes(32)).macCheck('tracking')
  it('contain delivery and link, and are valid only with their secret, kind and spelling', () => {
    for (const id of [1, 2 ** 32, 2 ** 48 - 1]) {
      expect(readTrackingToken(check, openToken(mac, id))).toEqual({
        kind: 'open',
        deliveryId: id,
      })
      for (const index of [0, 9_999, 65_535]) {
        const click = clickToken(mac, id, index)
        expect(click).toMatch(/^[\w-]{34}$/)
        expect(readTrackingToken(check, click)).toEqual({ kind: 'click', deliveryId: id, index })
        expect(readTrackingToken(otherCheck(), click)).toBeNull()
      }
    }
  })

  it('are refused with any character changed, cut or added', () => {
    for (const token of [openToken(mac, 7), clickToken(mac, 7, 1)]) {
      for (let i = 0; i < token.length; i++) {
        for (const char of ['A', 'B', '_', '=', '%', '']) {
          const other = token.slice(0, i) + char + token.slice(i + 1)
          if (other !== token) expect(readTrackingToken(check, other)).toBeNull()
        }
        expect(readTrackingToken(check, token.slice(0, i))).toBeNull()
      }
      expect(readTrackingToken(check, `${token}A`)).toBeNull()
      expect(readTrackingToken(check, `${token}\n`)).toBeNull()
    }
  })
})

describe('the address of an unsubscribe token', () => {
  it('is read in any case of letters, and other addresses are refused', () => {
    const token = randomBytes(16).toString('base64url')
    const address = unsubscribeMailbox(token, 'bounces.sender.test')
    expect(address).toMatch(/^u\+[0-9a-f]{32}@bounces\.sender\.test$/)
    expect(parseUnsubscribeMailbox(address)).toBe(token)
    expect(parseUnsubscribeMailbox(address.toUpperCase())).toBe(token)
    for (const other of [address.slice(1), address.replace('@', ''), `x${address}`, 'u+@x', ''])
      expect(parseUnsubscribeMailbox(other)).toBeNull()
  })
})
