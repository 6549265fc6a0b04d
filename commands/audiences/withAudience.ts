// Runs a change of an audience's contacts under the audience's lock, then updates its counts and records
// automation events.

import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import { findContactEmails } from '../../db/contacts/reads.ts'
import { isTriggerAbout } from '../../db/workflows/triggers.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { recordInWaves } from '../events/waves.ts'
import { type InTrx, transact } from '../transact.ts'

export interface Outcome<T> {
  value: T
  /** Changes of the audience's two counts. */
  contacts?: number
  unsubscribers?: number
  /** The automation event to record for those of the addresses that are automation contacts, or become so by a trigger. */
  event?: { name: 'audience.joined' | 'audience.left'; emails: string[] }
}

/** The value of an outcome, or the refusal. */
type ValueOf<W> = W extends Outcome<infer T> ? T : W

/** Runs a change under the audience's lock, then updates its counts and records its events. */
export function withAudience<W extends Outcome<unknown> | Refusal>(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  audienceId: string,
  work: (deps: InTrx<CommandDeps>, at: Date) => Promise<W>,
): Promise<ValueOf<W> | Refusal<'audience_not_found'>> {
  const at = deps.now()
  return transact(deps, async (inTrx) => {
    const { db } = inTrx
    const audience = isId('audience', audienceId)
      ? await lockAudience(db, workspaceId, audienceId)
      : undefined
    if (!audience) return refuse('audience_not_found', { id: audienceId })
    const outcome = await work(inTrx, at)
    if (isRefusal(outcome)) return outcome as ValueOf<W>
    const { value, contacts = 0, unsubscribers = 0, event } = outcome as Outcome<ValueOf<W>>
    await updateAudienceCounts(db, workspaceId, audienceId, { contacts, unsubscribers })
    if (event) await tell(inTrx, workspaceId, audience, event, at)
    return value
  })
}

async function tell(
  deps: InTrx<CommandDeps>,
  workspaceId: WorkspaceId,
  audience: { id: string; name: string },
  event: NonNullable<Outcome<unknown>['event']>,
  at: Date,
): Promise<void> {
  // Who is no contact becomes one where a workflow begins at this audience.
  const createContact = await isTriggerAbout(deps.db, workspaceId, event.name, audience.id)
  const emails = createContact
    ? [...event.emails].sort()
    : await findContactEmails(deps.db, workspaceId, event.emails)
  const joinsOrLeaves = {
    eventId: null,
    eventName: event.name,
    properties: { audience_id: audience.id, audience_name: audience.name },
    at,
    contactProperties: null,
    // Without a workflow that begins here these are contacts already.
    createContact: true as const,
  }
  const events = emails.map((email, place) => ({
    place,
    event: { ...joinsOrLeaves, email },
    now: at,
  }))
  await recordInWaves({ ...deps, now: () => at }, workspaceId, events)
}
