// Domains that mail was sent from are tried without asking, and the less the more often that was in vain.
import { expect, test } from 'vitest'
import {
  createKnownDomains,
  type KnownDomain,
  noteTried,
} from '../../../commands/emails/knownDomains.ts'
import type { SendingDomain } from '../../../db/domains/sending.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const [own, other] = ['ws_1', 'ws_2'] as WorkspaceId[] as [WorkspaceId, WorkspaceId]
const domain: SendingDomain = {
  id: 'dom_1',
  status: 'SUCCESS',
  open_tracking_enabled: false,
  click_tracking_enabled: false,
  tracking_host: null,
}

/** Takes the domain, which is not backed off. */
function takeKnown(known: ReturnType<typeof createKnownDomains>): KnownDomain {
  const taken = known.take(own, 'sender.test')
  if (!taken) throw new Error('it was not tried')
  return taken
}

/** Emails that ask until the domain is tried again. */
function countAsked(known: ReturnType<typeof createKnownDomains>): number {
  let count = 0
  while (!known.take(own, 'sender.test')) {
    count += 1
    // As the email does that has asked.
    known.remember(own, 'sender.test', domain)
  }
  return count
}

test('a domain is known once it was read, to its workspace alone', () => {
  const known = createKnownDomains()
  expect(known.take(own, 'sender.test')).toBeNull()
  known.remember(own, 'sender.test', domain)
  expect(known.take(own, 'sender.test')?.domain).toEqual(domain)
  expect(known.take(other, 'sender.test')).toBeNull()
  expect(known.take(own, 'other.test')).toBeNull()
})

test('after each commit in a row that wrote nothing twice as many emails ask, up to a bound', () => {
  const known = createKnownDomains()
  known.remember(own, 'sender.test', domain)
  const asked = Array.from({ length: 7 }, () => {
    const tried = takeKnown(known)
    // Emails of one group, of which each tells the same.
    noteTried([tried, tried], false)
    return countAsked(known)
  })
  expect(asked).toEqual([8, 16, 32, 64, 128, 256, 256])
  const tried = takeKnown(known)
  noteTried([tried, tried], true)
  expect(countAsked(known)).toBe(0)
  noteTried([tried], false)
  expect(countAsked(known)).toBe(8)
})

test('a domain that is read again replaces what was remembered', () => {
  const known = createKnownDomains()
  known.remember(own, 'sender.test', domain)
  known.remember(own, 'sender.test', { ...domain, open_tracking_enabled: true })
  expect(known.take(own, 'sender.test')?.domain.open_tracking_enabled).toBe(true)
})

test('after a large group as many ask as it had emails', () => {
  const known = createKnownDomains()
  known.remember(own, 'sender.test', domain)
  const tried = takeKnown(known)
  noteTried(Array(50).fill(tried), false)
  expect(countAsked(known)).toBe(50)
})

test('small groups that are committed between large ones that are not do not end the back-off', () => {
  const known = createKnownDomains()
  known.remember(own, 'sender.test', domain)
  const asked = Array.from({ length: 5 }, () => {
    const tried = takeKnown(known)
    noteTried([tried], true)
    noteTried(Array(50).fill(tried), false)
    return countAsked(known)
  })
  expect(asked).toEqual([50, 50, 50, 64, 128])
})

test('groups that were under way together are charged once', () => {
  const known = createKnownDomains()
  known.remember(own, 'sender.test', domain)
  const tried = takeKnown(known)
  for (let group = 0; group < 3; group++) noteTried([tried], false)
  expect(tried.backoff).toEqual({ inVain: 1, size: 1, asksLeft: 8 })
})
