// The executions of an erased contact: those that run are cancelled in pages, and when none does all are blanked, in pages.
import { blankExecutions } from '../../db/contacts/executionWalk.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { OwnReason } from '../../rules/cancelReasons.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { ALL, type ErasePlace } from './erasePlace.ts'

type Deps = InTrx<Pick<CommandDeps, 'db' | 'wake'>>

interface Next {
  now: Date
  limit: number
}

const CONTACT_DELETED = { code: 'contact_deleted', reason: 'contact_deleted' } as const satisfies {
  reason: OwnReason
  code: string
}

/** Cancels executions that run; the contact's row is deleted. @returns how many; fewer than `limit`: no more run */
export async function cancelTheirs(
  { db: trx, wake }: Deps,
  workspaceId: WorkspaceId,
  contactId: string,
  { now, limit }: Next,
): Promise<number> {
  const theirs = { ofContact: contactId, limit }
  const cancelled = await cancelExecutions(trx, workspaceId, theirs, CONTACT_DELETED, now)
  if (cancelled.length > 0) wake('dripline_outbox')
  return cancelled.length
}

/**
 * Walks over the contact's executions, once, when all have ended.
 * @returns how many were cancelled, or else blanked, and how far it is
 */
export async function eraseExecutions(
  deps: Deps,
  workspaceId: WorkspaceId,
  contactId: string,
  { after, ...next }: Next & { after: ErasePlace['execution'] },
): Promise<{ cancelled: number; blanked: number; at: ErasePlace['execution'] }> {
  const nothing = { cancelled: 0, blanked: 0, at: after }
  if (after === ALL) return nothing
  const cancelled = await cancelTheirs(deps, workspaceId, contactId, next)
  if (cancelled > 0) return { ...nothing, cancelled }
  const page = { after, limit: next.limit }
  const { count, next: at } = await blankExecutions(deps.db, workspaceId, contactId, page)
  return { ...nothing, blanked: count, at: at ?? ALL }
}
