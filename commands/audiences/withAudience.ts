// What every change of an audience's contacts has around it: the audience's lock, its counts, the automation events.

import type { AudienceContactRow } from '../../db/audiences/contactReads.ts'
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import { findContactEmails } from '../../db/contacts/reads.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { recordAutomationEvent } from '../events/record.ts'
import { type InTrx, transact } from '../transact.ts'

/** What of an audience contact can change; what is undefined stays. */
export interface AudienceContactChange {
  first_name?: string | null | undefined
  last_name?: string | null | undefined
  is_subscribed?: boolean | undefined
  /** Merged into the stored ones; null deletes a key. */
  properties?: JsonObject | undefined
}

export interface Outcome<T> {
  value: T
  /** How far the counts move. */
  contacts?: number
  unsubscribers?: number
  /** What those of the addresses that are automation contacts hear. */
  event?: { name: 'audience.joined' | 'audience.left'; emails: string[] }
}

/** What an outcome is worth to the caller; a refusal is passed on. */
type ValueOf<W> = W extends Outcome<infer T> ? T : W

/** Runs a change under the audience's lock, then moves its counts and records its events. */
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
  for (const email of await findContactEmails(deps.db, workspaceId, event.emails)) {
    await recordAutomationEvent(deps, workspaceId, {
      eventId: null,
      eventName: event.name,
      email,
      properties: { audience_id: audience.id, audience_name: audience.name },
      at,
      contactProperties: null,
      createContact: false,
    })
  }
}

/** A row with what the change names; the rest stays. */
export function changed(
  row: AudienceContactRow,
  change: AudienceContactChange,
  at: Date,
): AudienceContactRow {
  return {
    ...row,
    first_name: change.first_name === undefined ? row.first_name : change.first_name,
    last_name: change.last_name === undefined ? row.last_name : change.last_name,
    is_subscribed: change.is_subscribed ?? row.is_subscribed,
    properties: change.properties
      ? mergeProperties(row.properties, change.properties)
      : row.properties,
    updated_at: at,
  }
}
