// Unsubscribes a contact because a node of their workflow says so, in the segment's transaction.
import { listAudiencesOf } from '../../db/audiences/contactReads.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { insertOptOuts } from '../../db/opt-outs/writes.ts'
import { tellOfContact } from '../../db/webhooks/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { unsubscribeFromAudiences } from '../audiences/leaveAll.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { carryOutLeave } from './carryOut.ts'

export interface UnsubscribeByNode {
  scope: 'workflow' | 'workspace'
  workflowId: string
  contactId: string
  /** In lower case. */
  email: string
  /** The execution of the node, which ends itself. */
  executionId: string
  /** Ids of audiences whose locks the caller took before the contact's. */
  lockedAudiences: ReadonlySet<string>
}

/** Audiences are locked before contacts: the caller rolls back, and tries again with the locks of these. */
export class AudiencesNotLocked extends Error {
  override message = 'audiences are to be locked before the contact'
  readonly ids: string[]
  constructor(ids: string[]) {
    super()
    this.ids = ids
  }
}

/**
 * No mail led to it, so no event is recorded, by which it would be counted as one of mail; webhooks are told here. The caller holds the
 * contact's lock. May be repeated. @throws AudiencesNotLocked
 */
export async function unsubscribeByNode(
  deps: InTrx<Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>>,
  workspaceId: WorkspaceId,
  { scope, workflowId, contactId, email, executionId, lockedAudiences }: UnsubscribeByNode,
): Promise<void> {
  const at = deps.now()
  const audienceIds =
    scope === 'workspace' ? await listAudiencesOf(deps.db, workspaceId, email) : []
  if (audienceIds.some((id) => !lockedAudiences.has(id))) throw new AudiencesNotLocked(audienceIds)
  const row = {
    id: deps.newId('optOut'),
    scope,
    target_id: scope === 'workflow' ? workflowId : '',
    address_hmac: deps.addressMac(workspaceId, email),
    source: 'api' as const,
    unconfirmed_email_id: null,
    created_at: at,
  }
  const written = await insertOptOuts(deps.db, workspaceId, [row])
  if (written.has(row.id)) {
    await tellOfContact(deps.db, workspaceId, contactId, { type: 'contact.unsubscribed', at })
  }
  const leaving = { workflowId, contactId, email, butId: executionId }
  await carryOutLeave(deps, workspaceId, leaving, at)
  if (scope === 'workflow') return
  await unsubscribeFromAudiences(deps, workspaceId, { email, source: 'api' }, at)
  await stopWaiting(deps.db, workspaceId, { emails: [email], workflowId: 'any' }, 'left', at)
}
