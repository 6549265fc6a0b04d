// Carries out that a contact has left a workflow: cancels executions and settles mail that waits.
// Each execution goes by the version that it runs.

import type { Trx } from '../../db/connect.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { OwnReason } from '../../rules/cancelReasons.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

const REASON = { code: 'unsubscribed', reason: 'unsubscribed' } as const satisfies {
  reason: OwnReason
  code: string
}

/** Who left which workflow. */
export interface Leaving {
  workflowId: string
  contactId: string
  /** In lower case. */
  email: string
  /** An execution that is not cancelled: it ends itself. */
  butId?: string
}

/**
 * Cancels executions, but those whose version says `skip_sends`: they go on and skip marketing mail. The caller holds the
 * contact's lock, and has written the opt-out. May be repeated.
 */
export async function carryOutLeave(
  { db: trx, wake }: InTrx<Pick<CommandDeps, 'db' | 'wake'>> & { db: Trx },
  workspaceId: WorkspaceId,
  { workflowId, contactId, email, butId = '' }: Leaving,
  at: Date,
): Promise<void> {
  const who = { workflowId, contactId, butId, onLeaving: true }
  const cancelled = await cancelExecutions(trx, workspaceId, who, REASON, at)
  if (cancelled.length > 0) wake('dripline_outbox')
  await stopWaiting(trx, workspaceId, { emails: [email], workflowId }, 'left', at)
}
