// Erases a contact: what must not happen any more ends in the answering commit, and a job blanks what is left of them.

import {
  deleteContact,
  deleteContactNews,
  findBounds,
  insertLiveErasure,
  listMemberships,
} from '../../db/contacts/erase.ts'
import { lockContactByEmail } from '../../db/contacts/writes.ts'
import { insertJob, resumeErasures } from '../../db/jobs/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { cancelTheirs } from './eraseExecutions.ts'
import { toInput } from './eraseInput.ts'
import { cancelErasedMail } from './eraseMail.ts'
import { eraseMemberships } from './eraseMemberships.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac' | 'secrets'>

/** Executions, and mail, of one commit; the job ends the rest. Meanwhile no lane sends that mail, and no execution of a contact who is gone goes on. */
const CANCELLED_MAX = 1_000

/**
 * Removes the contact from all audiences, cancels their executions and the mail that waits for them, or for the team about them, and deletes the contact. It
 * records no automation event, so it starts and wakes nothing. Opt-outs stay as they are. What else names them is blanked by a job of the kind
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
    const { db: trx, newId } = inTrx
    const now = deps.now()
    await eraseMemberships(inTrx, workspaceId, { email, at: now })
    const contact = await lockContactByEmail(trx, workspaceId, email)
    const hmac = deps.addressMac(workspaceId, email)
    if (!contact) {
      const [resumed] = await resumeErasures(trx, workspaceId, hmac, now)
      return resumed ?? refuse('contact_not_found', {})
    }
    const contactId = contact.id
    const bounds = await findBounds(trx)
    // Audiences are not locked after contacts, so the job removes who was added meanwhile. Who adds holds the contact's lock.
    const late = await listMemberships(trx, workspaceId, email)
    const whom = { contactId, email, ...bounds, members: late.map((one) => one.id) }
    await deleteContactNews(trx, workspaceId, contactId)
    // First, so that executions end as those of somebody who is gone.
    await deleteContact(trx, workspaceId, contactId)
    const next = { now, limit: CANCELLED_MAX }
    await cancelTheirs(inTrx, workspaceId, contactId, next)
    await cancelErasedMail(trx, workspaceId, whom, next)
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
