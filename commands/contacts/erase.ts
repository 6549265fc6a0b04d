// Erases a contact: what must not happen any more ends in the answering commit, and a job blanks what is left of them.
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import {
  blankLiveExecutions,
  cancelMail,
  deleteContact,
  deleteContactNews,
  eraseMember,
  findBounds,
  insertLiveErasure,
  listMemberships,
} from '../../db/contacts/erase.ts'
import { lockContactByEmail } from '../../db/contacts/writes.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import { insertJob, resumeErasures } from '../../db/jobs/writes.ts'
import { insertOptOuts } from '../../db/opt-outs/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { audienceOptOut } from '../audiences/optOut.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'
import { toInput } from './eraseInput.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac' | 'secrets'>

const CONTACT_DELETED = { code: 'contact_deleted', reason: 'contact_deleted' } as const
/** Mail of one commit; the job cancels the rest, and no lane sends it meanwhile. */
const CANCELLED_MAX = 1_000

/**
 * Removes the contact from all audiences, cancels their executions and the mail that waits for them, and deletes the contact. It records no
 * automation event, so it starts and wakes nothing. Opt-outs stay as they are. What else names them is blanked by a job of the kind
 * `erasure`, which keeps a suppression by the HMAC of its address.
 * Of an address without a contact it lets an erasure that has failed go on.
 * @returns the id of the job
 */
export function eraseContact(
  deps: Deps,
  workspaceId: WorkspaceId,
  { email }: { /** In lower case. */ email: string },
): Promise<string | Refusal<'contact_not_found'>> {
  return transact(deps, async (inTrx) => {
    const { db: trx, newId, wake } = inTrx
    const now = deps.now()
    await leaveAudiences(inTrx, workspaceId, email, now)
    const contact = await lockContactByEmail(trx, workspaceId, email)
    const hmac = deps.addressMac(workspaceId, email)
    if (!contact) {
      const [resumed] = await resumeErasures(trx, workspaceId, hmac, now)
      return resumed ?? refuse('contact_not_found', {})
    }
    const contactId = contact.id
    const bounds = await findBounds(trx, workspaceId)
    // What this process has kept may bear a later time than that of Postgres.
    const at = new Date(Math.max(bounds.at.getTime(), now.getTime()))
    const whom = { contactId, email, ...bounds, at }
    await blankLiveExecutions(trx, workspaceId, contactId)
    const theirs = { ofContact: contactId }
    const cancelled = await cancelExecutions(trx, workspaceId, theirs, CONTACT_DELETED, now)
    if (cancelled.length > 0) wake('dripline_outbox')
    await deleteContactNews(trx, workspaceId, contactId)
    await deleteContact(trx, workspaceId, contactId)
    await cancelMail(trx, workspaceId, whom, { now, limit: CANCELLED_MAX })
    await insertLiveErasure(trx, workspaceId, { hmac, deliveryId: bounds.deliveryId })
    const id = newId('job')
    await insertJob(trx, workspaceId, {
      id,
      domain_id: null,
      kind: 'erasure',
      status: 'queued',
      input: JSON.stringify(toInput(deps, whom, hmac)),
      counts: '{}',
      result: null,
      created_at: now,
      updated_at: now,
    })
    return id
  })
}

/** Audiences are locked before the contact. Who had left one is still known to have left it when they come back. */
async function leaveAudiences(
  deps: InTrx<Deps>,
  workspaceId: WorkspaceId,
  email: string,
  at: Date,
): Promise<void> {
  const { db: trx } = deps
  for (const { audience_id: audienceId } of await listMemberships(trx, workspaceId, email)) {
    if (!(await lockAudience(trx, workspaceId, audienceId))) continue
    const member = await eraseMember(trx, workspaceId, { audienceId, email })
    if (!member) continue
    const unsubscribers = member.is_subscribed ? 0 : -1
    await updateAudienceCounts(trx, workspaceId, audienceId, { contacts: -1, unsubscribers })
    if (member.is_subscribed) continue
    await insertOptOuts(trx, workspaceId, [
      audienceOptOut(deps, workspaceId, { audienceId, email, at }),
    ])
  }
}
