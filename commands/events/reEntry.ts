// Decides by the trigger's re_entry rule, and by how often they did within an hour, whether contacts may enter a workflow again.

import type { Trx } from '../../db/connect.ts'
import { type AskedEntry, listAdmissions } from '../../db/executions/admissions.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { parsePath, readPath } from '../../rules/paths.ts'

const HOUR_MS = 60 * 60 * 1000

/** A contact who is about to enter a workflow, with the rule of the trigger and the triggering properties. */
export interface Entry {
  contactId: string
  workflowId: string
  now: Date
  reEntry: ReEntry | null
  properties: JsonObject
}

/** Why a contact may not enter. */
export type EntryRefusal = 're_entry' | 'too_often'

/**
 * Why each of these may not enter, by one statement; null: they may. Allowed with `once`: if there was no execution before; with
 * `after_exit`: if none is running; with `interval`: if none started within `min_interval_ms`. With `key_path` only executions
 * count whose triggering properties have the same value at that path, and with `of_each_status` the same `status`. Whatever the rule says, and whatever starts it, a contact
 * enters a workflow `limits.entriesPerHourMax` times within an hour at most. The caller holds the contacts' locks.
 */
export async function listEntryRefusals(
  trx: Trx,
  workspaceId: WorkspaceId,
  entries: readonly Entry[],
): Promise<(EntryRefusal | null)[]> {
  if (entries.length === 0) return []
  const found = await listAdmissions(trx, workspaceId, entries.map(askOf))
  return found.map(({ earlier, often }) => (earlier ? 're_entry' : often ? 'too_often' : null))
}

/** The same for one. */
export async function findEntryRefusal(
  trx: Trx,
  workspaceId: WorkspaceId,
  entry: Entry,
): Promise<EntryRefusal | null> {
  const [refusal = null] = await listEntryRefusals(trx, workspaceId, [entry])
  return refusal
}

function askOf({ contactId, workflowId, now, reEntry, properties }: Entry): AskedEntry {
  const oftenSince = new Date(now.getTime() - HOUR_MS)
  const asked = { contactId, workflowId, oftenSince }
  const mode = reEntry?.mode ?? 'every'
  if (!reEntry || mode === 'every') return { ...asked, earlier: null, key: null }
  const key = keyOf(reEntry, properties)
  // Once for each email and status: a start by hand is about no email.
  const namesNoEmail = reEntry.of_each_status && key?.value === undefined
  if (namesNoEmail) return { ...asked, earlier: null, key: null }
  const since = new Date(now.getTime() - (reEntry.min_interval_ms ?? 0))
  const earlier = mode === 'interval' ? { since } : mode === 'after_exit' ? 'live' : 'any'
  return { ...asked, earlier, key }
}

function keyOf({ key_path: keyPath, of_each_status }: ReEntry, properties: JsonObject) {
  const parts = keyPath ? parsePath(keyPath.replace(/^(event|properties)\./, '')) : null
  if (!parts) return null
  const { status } = properties
  return {
    path: parts.map((part) => part.name),
    value: readPath(properties, parts)[0],
    status: of_each_status && typeof status === 'string' ? status : null,
  }
}
