// Carries out that a contact has left a workflow: cancels executions and settles mail that waits.
import type { Trx } from '../../db/connect.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

const REASON = { code: 'unsubscribed', reason: 'unsubscribed' } as const

/** Who left which workflow. */
export interface Leaving {
  workflowId: string
  contactId: string
  /** In lower case. */
  email: string
  /** Whether executions are cancelled; otherwise they go on and skip marketing mail. */
  cancels: boolean
  /** An execution that is not cancelled: it ends itself. */
  butId?: string
}

/** The caller holds the contact's lock, and has written the opt-out. May be repeated. */
export async function carryOutLeave(
  { db: trx, wake }: InTrx<Pick<CommandDeps, 'db' | 'wake'>> & { db: Trx },
  workspaceId: WorkspaceId,
  { workflowId, contactId, email, cancels, butId = '' }: Leaving,
  at: Date,
): Promise<void> {
  if (cancels) {
    const who = { workflowId, contactId, butId }
    const cancelled = await cancelExecutions(trx, workspaceId, who, REASON, at)
    if (cancelled.length > 0) wake('dripline_outbox')
  }
  await stopWaiting(trx, workspaceId, { emails: [email], workflowId }, 'left', at)
}
