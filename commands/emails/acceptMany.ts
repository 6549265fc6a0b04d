// Commits several emails together.

import { isPlain } from '../../db/emails/insertMany.ts'
import { listSendFacts, type SendFacts } from '../../db/emails/sendFacts.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type DailyLimit, withDayPlaces } from '../limits/daily.ts'
import { transact } from '../transact.ts'
import { type AcceptEmail, factsAsked, type PreparedEmail } from './accept.ts'
import { writeEmailsTo } from './write.ts'

/** What must be known to prepare each of the emails, in order. */
export function findSendFacts(
  { db }: Pick<CommandDeps, 'db'>,
  workspaceId: WorkspaceId,
  inputs: readonly AcceptEmail[],
): Promise<SendFacts[]> {
  return listSendFacts(db, workspaceId, inputs.map(factsAsked))
}

/**
 * Commits all of them or none. Cannot run inside another transaction.
 * @param keyId the key that asks, whose emails may be limited
 */
export async function acceptEmails(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'> & { daily: DailyLimit },
  workspaceId: WorkspaceId,
  keyId: string,
  prepared: readonly PreparedEmail[],
): Promise<undefined | Refusal<'daily_limit'>> {
  if (prepared.length === 0) return undefined
  const isOneStatement = prepared.every(
    ({ email, contacts }) => contacts.length === 0 && isPlain(email),
  )
  const commit = isOneStatement ? transact.one : transact
  return withDayPlaces(deps, workspaceId, keyId, prepared.length, () =>
    commit(deps, (inTrx) => writeEmailsTo(inTrx, workspaceId, prepared)),
  )
}
