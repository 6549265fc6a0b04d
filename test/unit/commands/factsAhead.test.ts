// What is asked while a message comes: it counts for the same email, and not for long.
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  askAhead,
  type FactsAhead,
  FRESH_MS,
  factsOf,
} from '../../../commands/emails/factsAhead.ts'
import type { AskedSendFacts, SendFacts } from '../../../db/emails/sendFacts.ts'
import { NoPlace } from '../../../db/shares.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const workspaceId = 'ws_1' as WorkspaceId
const asked = { domainName: 'sender.test', addresses: ['a@example.test', 'b@example.test'] }
const isAsked = (more: Partial<AskedSendFacts> = {}) => ({ ...structuredClone(asked), ...more })

/** Answers each time with another contact. @param failures of the first times */
function answering(failures = 0, failure = new Error('not now')) {
  let times = 0
  const findFacts = async (): Promise<SendFacts> => {
    times += 1
    if (times <= failures) throw failure
    return { domain: null, contactEmails: [`${times}@example.test`] }
  }
  return { findFacts }
}
type Groups = ReturnType<typeof answering>
/** The contact by which the facts that an email gets are known. */
const toldBy = async (
  groups: Groups,
  email: AskedSendFacts,
  ahead: FactsAhead | null,
  isAccepted = (_: SendFacts) => true,
) => (await factsOf(groups, workspaceId, email, ahead, isAccepted)).contactEmails[0]

test('what was asked for the same email is not asked again', async () => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(groups, isAsked(), ahead)).toBe('1@example.test')
})

test.each([
  { what: 'of another domain', email: isAsked({ domainName: 'other.test' }) },
  { what: 'to somebody else', email: isAsked({ addresses: ['a@example.test', 'c@example.test'] }) },
  { what: 'to one more', email: isAsked({ addresses: [...asked.addresses, 'c@example.test'] }) },
])('an email $what is asked for itself', async ({ email }) => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(groups, email, ahead)).toBe('2@example.test')
})

test('what was asked too long ago is asked again', async () => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now + FRESH_MS + 1)
  onTestFinished(() => clock.mockRestore())
  expect(await toldBy(groups, asked, ahead)).toBe('2@example.test')
})

test('what could not be read is asked again, and what fails then is told', async () => {
  const groups = answering(1)
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(groups, asked, ahead)).toBe('2@example.test')
  const failing = answering(2)
  const failed = askAhead(failing, workspaceId, asked)
  await expect(toldBy(failing, asked, failed)).rejects.toThrow('not now')
})

test('nobody asks again while no connection is free', async () => {
  const groups = answering(1, new NoPlace('too many wait already'))
  const ahead = askAhead(groups, workspaceId, asked)
  await expect(toldBy(groups, asked, ahead)).rejects.toThrow('too many wait already')
})

test('nothing is refused for what was true before', async () => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(groups, asked, ahead, () => false)).toBe('2@example.test')
})

test('nothing was asked ahead', async () => {
  expect(await toldBy(answering(), asked, null)).toBe('1@example.test')
})
