// A page of the answers that are kept for repeated requests and may name an erased contact.
import type { Trx } from '../../db/connect.ts'
import { listAnswers, listTheirExecutions, replaceAnswers } from '../../db/contacts/answers.ts'
import type { Erased } from '../../db/contacts/erase.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { blankAnswer, executionIn } from './blankAnswer.ts'
import { ALL, type ErasePlace } from './erasePlace.ts'

/** Answers that one page looks at. */
const ANSWERS_PAGE = 1_000

/**
 * Walks over the answers of the workspace by their keys, once, and after the executions: until an execution is blanked, whoever cancels it once more
 * is answered with the address. Of answers that were kept after the erasure those about the contact's executions are theirs; all others are of
 * somebody who uses the address again.
 */
export async function blankAnswers(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, at, contactId }: Erased,
  { answer: after, execution }: Pick<ErasePlace, 'answer' | 'execution'>,
): Promise<{ count: number; looked: number; last: string }> {
  if (after === ALL || execution !== ALL) return { count: 0, looked: 0, last: after }
  const answers = await listAnswers(trx, workspaceId, { after, at, limit: ANSWERS_PAGE })
  const ids = answers.flatMap(({ body, is_later }) =>
    is_later ? (executionIn(body, email) ?? []) : [],
  )
  const theirs = new Set(await listTheirExecutions(trx, workspaceId, contactId, ids))
  const blank = answers.flatMap(({ key, body, is_later }) => {
    if (is_later && !theirs.has(executionIn(body, email) ?? '')) return []
    const without = blankAnswer(body, email)
    return without === null ? [] : { key, body: without }
  })
  await replaceAnswers(trx, workspaceId, blank)
  const last = answers.at(-1)?.key
  return { count: blank.length, looked: answers.length, last: last ?? ALL }
}
