// What is asked while a message comes: it counts for the same email, and not for long.
import { expect, onTestFinished, test, vi } from 'vitest'
import { askAhead, factsOf } from '../../../commands/emails/factsAhead.ts'
import type { AskedSendFacts, SendFacts } from '../../../db/emails/sendFacts.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const workspaceId = 'ws_1' as WorkspaceId
const asked = { domainName: 'sender.test', addresses: ['a@example.test', 'b@example.test'] }
const isAsked = (more: Partial<AskedSendFacts> = {}) => ({ ...structuredClone(asked), ...more })

/** Answers each time with another contact. @param failures of the first times */
function answering(failures = 0) {
  let times = 0
  const findFacts = async (): Promise<SendFacts> => {
    times += 1
    if (times <= failures) throw new Error('not now')
    return { domain: null, contactEmails: [`${times}@example.test`] }
  }
  return { findFacts }
}
const toldBy = async (of: Promise<SendFacts>) => (await of).contactEmails[0]

test('what was asked for the same email is not asked again', async () => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(factsOf(groups, workspaceId, isAsked(), ahead))).toBe('1@example.test')
})

test.each([
  { what: 'of another domain', email: isAsked({ domainName: 'other.test' }) },
  { what: 'to somebody else', email: isAsked({ addresses: ['a@example.test', 'c@example.test'] }) },
  { what: 'to one more', email: isAsked({ addresses: [...asked.addresses, 'c@example.test'] }) },
])('an email $what is asked for itself', async ({ email }) => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(factsOf(groups, workspaceId, email, ahead))).toBe('2@example.test')
})

test('what was asked too long ago is asked again', async () => {
  const groups = answering()
  const ahead = askAhead(groups, workspaceId, asked)
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 251)
  onTestFinished(() => clock.mockRestore())
  expect(await toldBy(factsOf(groups, workspaceId, asked, ahead))).toBe('2@example.test')
})

test('what could not be read is asked again, and what fails then is told', async () => {
  const groups = answering(1)
  const ahead = askAhead(groups, workspaceId, asked)
  expect(await toldBy(factsOf(groups, workspaceId, asked, ahead))).toBe('2@example.test')
  const failing = answering(2)
  const failed = askAhead(failing, workspaceId, asked)
  await expect(factsOf(failing, workspaceId, asked, failed)).rejects.toThrow('not now')
})

test('nothing was asked ahead', async () => {
  expect(await toldBy(factsOf(answering(), workspaceId, asked, null))).toBe('1@example.test')
})
