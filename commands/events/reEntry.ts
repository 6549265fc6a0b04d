// Decides by the trigger's re_entry rule whether contacts may enter a workflow again.

import type { Trx } from '../../db/connect.ts'
import { type AskedEntry, listAdmissions } from '../../db/executions/admissions.ts'
import { listEntered, listEnteredOften } from '../../db/executions/entries.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { parsePath, readPath } from '../../rules/paths.ts'

const HOUR_MS = 60 * 60 * 1000

/** Contacts who are about to enter a workflow. */
interface Entries {
  contactIds: readonly string[]
  workflowId: string
  now: Date
}

interface Entry {
  contactId: string
  workflowId: string
  now: Date
}

const toEntries = ({ contactId, ...entry }: Entry): Entries => ({
  ...entry,
  contactIds: [contactId],
})

/**
 * Those of the contacts who may not enter. Allowed with `once`: if there was no execution before; with `after_exit`: if none
 * is running; with `interval`: if none started within `min_interval_ms`. With `key_path` only executions count whose
 * triggering properties have the same value at that path. The caller holds the contacts' locks.
 */
export async function listRefused(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactIds, workflowId, now }: Entries,
  reEntry: ReEntry | null,
  properties: JsonObject,
): Promise<ReadonlySet<string>> {
  const mode = reEntry?.mode ?? 'every'
  if (!reEntry || mode === 'every') return new Set()
  const since = new Date(now.getTime() - (reEntry.min_interval_ms ?? 0))
  return listEntered(trx, workspaceId, {
    contactIds,
    workflowId,
    liveOnly: mode === 'after_exit',
    since: mode === 'interval' ? since : null,
    key: keyOf(reEntry.key_path, properties),
  })
}

/** Whether `listRefused` refuses nothing to one contact. */
export async function mayEnter(
  trx: Trx,
  workspaceId: WorkspaceId,
  entry: Entry,
  reEntry: ReEntry | null,
  properties: JsonObject,
): Promise<boolean> {
  const refused = await listRefused(trx, workspaceId, toEntries(entry), reEntry, properties)
  return refused.size === 0
}

/** Those of the contacts who have entered a workflow so often within the last hour that nothing starts it for them again. */
export function listTooOften(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactIds, workflowId, now }: Entries,
): Promise<ReadonlySet<string>> {
  const since = new Date(now.getTime() - HOUR_MS)
  const times = limits.entriesPerHourMax
  return listEnteredOften(trx, workspaceId, { contactIds, workflowId, since, times })
}

/** Whether a contact has entered a workflow so often within the last hour that nothing starts it for them again. */
export async function isEnteredTooOften(
  trx: Trx,
  workspaceId: WorkspaceId,
  entry: Entry,
): Promise<boolean> {
  return (await listTooOften(trx, workspaceId, toEntries(entry))).size > 0
}

/** A contact who is about to enter, with the rule of the trigger and the triggering properties. */
export interface RuledEntry extends Entry {
  reEntry: ReEntry | null
  properties: JsonObject
}

/** Whether each of these may enter (`mayEnter`), and has not entered too often: by one statement. */
export async function listAdmitted(
  trx: Trx,
  workspaceId: WorkspaceId,
  entries: readonly RuledEntry[],
): Promise<boolean[]> {
  if (entries.length === 0) return []
  const entered = await listAdmissions(trx, workspaceId, entries.map(askOf))
  return entered.map(({ earlier, often }) => !earlier && !often)
}

function askOf({ contactId, workflowId, now, reEntry, properties }: RuledEntry): AskedEntry {
  const oftenSince = new Date(now.getTime() - HOUR_MS)
  const asked = { contactId, workflowId, oftenSince }
  const mode = reEntry?.mode ?? 'every'
  if (!reEntry || mode === 'every') return { ...asked, earlier: null, key: null }
  const since = new Date(now.getTime() - (reEntry.min_interval_ms ?? 0))
  const earlier = mode === 'interval' ? { since } : mode === 'after_exit' ? 'live' : 'any'
  return { ...asked, earlier, key: keyOf(reEntry.key_path, properties) }
}

function keyOf(keyPath: string | undefined, properties: JsonObject) {
  const parts = keyPath ? parsePath(keyPath.replace(/^(event|properties)\./, '')) : null
  if (!parts) return null
  return { path: parts.map((part) => part.name), value: readPath(properties, parts)[0] }
}
