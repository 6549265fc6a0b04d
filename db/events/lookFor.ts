// Tells which events may start or wake something, so that no more is read for the others.
import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { Param } from '../prepared.ts'
import { keptKeys } from '../segments/kept.ts'
import { unseenTexts } from '../unseen.ts'
import { triggerKey } from './triggers.ts'

/**
 * Which names have triggers, and which contacts wait for their event or for any change. One row of each is read, however many wait.
 * The guard of `insertUnawaitedGroup` (unawaited.ts) looks for the same: whatever else an event may start or wake belongs into both.
 */
export async function lookFor(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly { contactId: string; eventName: string | null }[],
  namesOf: readonly string[][],
) {
  const listOf = new Map<readonly string[], string>()
  for (const names of namesOf) if (!listOf.has(names)) listOf.set(names, JSON.stringify(names))
  const lists = [...new Set(listOf.values())]
  const { rows } = await sql<Looked>`
    with given as (
      select * from unnest(${unseenTexts(events.map(({ contactId }) => contactId))},
        ${unseenTexts(events.map(({ eventName }) => eventName))}) as g(contact_id, event_name)
    ), keys as (
      select n.names, (${triggerKey(workspaceId, sql`array(select jsonb_array_elements_text(n.names::jsonb))`)}) as key
      from unnest(${unseenTexts(lists)}) as n(names)
    )
    select (select json_object_agg(names, key) from keys) as keys, (${keptKeys(workspaceId)}) as segment_keys,
      array(select g.contact_id from given g cross join lateral (${oneWait(workspaceId, sql`w.event_name = g.event_name`)}) one
        union select g.contact_id from given g cross join lateral (${oneWait(workspaceId, sql`w.watched`)}) one) as waiting
  `.execute(trx)
  const [row] = rows
  return {
    /** @param names one of the lists that were given */
    keyOf: (names: readonly string[]) => row?.keys?.[listOf.get(names) ?? ''] ?? null,
    waiting: new Set(row?.waiting),
    segmentKeys: row?.segment_keys ?? null,
  }
}

/**
 * A `select` of one row if the contact of the row `g` has such an open wait `w`. Read with a limit, so that it is looked for contact by
 * contact.
 */
export const oneWait = (workspaceId: Param<WorkspaceId>, such: RawBuilder<unknown>) => sql`
        select 1 from event_waits w where w.contact_id = g.contact_id and ${such}
          and w.workspace_id = ${workspaceId} and w.consumed_by is null and w.ended_by is null limit 1`

interface Looked {
  /** Of each list of names, as JSON: what `triggerKey` gives. Null: no list was given. */
  keys: Record<string, string | null> | null
  segment_keys: string | null
  waiting: string[]
}
