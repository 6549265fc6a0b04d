// When a domain that is not found ends its mail, and when its addresses are suppressed.
import { expect, test } from 'vitest'
import { doubtedResolverRejection, unknownDomainRejection } from '../../../mail/dns/mxHosts.ts'
import type { Outcome } from '../../../mail/transport.ts'
import { NOW, refused, settle } from './settle.ts'

test('a domain that is not found is looked up again half an hour later, and bounces if it is not found again', () => {
  const first = settle(unknownDomainRejection('NXDOMAIN'))
  expect(first).toMatchObject({ state: 'deferred', event: null })
  expect((first?.nextAt?.getTime() ?? 0) - NOW).toBeGreaterThanOrEqual(30 * 60_000)
  const second = settle(unknownDomainRejection('NXDOMAIN'), { lastResponse: first?.response ?? '' })
  expect(second).toMatchObject({
    state: 'bounced',
    suppress: 'no',
    event: { data: { type: 'Permanent', subtype: 'General' } },
  })
})

test('a look that is doubted is none of the two by which a domain is not found', () => {
  const [unknown, doubted] = [
    unknownDomainRejection('NXDOMAIN'),
    doubtedResolverRejection('NXDOMAIN'),
  ]
  let lastResponse = ''
  const look = (outcome: Outcome) => {
    const settlement = settle(outcome, { lastResponse })
    lastResponse = settlement?.response ?? ''
    return settlement
  }
  expect(look(doubted)).toMatchObject({ state: 'deferred', event: null, suppress: 'no' })
  expect(look(unknown)?.state, 'after a doubted look').toBe('deferred')
  const again = look(doubted)
  expect(again?.state, 'doubted, after a look').toBe('deferred')
  expect((again?.nextAt?.getTime() ?? 0) - NOW).toBe(30 * 60_000)
  expect(look(unknown)?.state).toBe('deferred')
  expect(look(unknown)?.state, 'two looks in a row').toBe('bounced')
  expect(settle(doubted, { expired: true })).toMatchObject({
    state: 'bounced',
    suppress: 'no',
    event: { data: { type: 'Transient', subtype: 'General' } },
  })
})

test('a domain that is not found since a day suppresses for a month, once that is confirmed', () => {
  const unknown = unknownDomainRejection('NXDOMAIN')
  const first = settle(unknown, { isDomainGone: true })
  expect(first).toMatchObject({ state: 'deferred', suppress: 'no' })
  const last = { lastResponse: first?.response ?? '', isDomainGone: true }
  expect(settle(unknown, last)).toMatchObject({ state: 'bounced', suppress: 'for_a_month' })
  const full = refused(552, '5.2.2', '552 5.2.2 mailbox full')
  expect(settle(full, last)?.suppress, 'said by a server').not.toBe('for_a_month')
})
