// Which links of a mail are our own, by which nobody is tracked or tagged.
import { expect, test } from 'vitest'
import { ownUrlRule } from '../../../mail/tracking/ownUrls.ts'

const publicUrl = 'https://mail.example.test'

test.each([
  ['https://mail.example.test/u/abc', true],
  ['https://click.shop.test/u/abc', true],
  ['https://elsewhere.test/?next=t0ken', true],
  ['https://mail.example.test/other', false],
  ['https://other.test/u/abc', false],
  ['https://elsewhere.test/?next=', false],
])('%s of a mail with a tracking host and a token: %s', (url, isOwn) => {
  expect(ownUrlRule({ publicUrl, trackingHost: 'click.shop.test', leaveToken: 't0ken' })(url)).toBe(
    isOwn,
  )
})

test('without either, those at the public URL alone', () => {
  const isOwn = ownUrlRule({ publicUrl, trackingHost: null })
  expect([`${publicUrl}/u/abc`, 'https://click.shop.test/u/abc'].map(isOwn)).toEqual([true, false])
})
