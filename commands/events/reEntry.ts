// Decides by the trigger's re_entry rule whether a contact may enter a workflow again.

import type { Trx } from '../../db/connect.ts'
import { isEntered, isEnteredOften } from '../../db/executions/entries.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { parsePath, readPath } from '../../rules/paths.ts'

const HOUR_MS = 60 * 60 * 1000

/**
 * Allowed with `once`: if there was no execution before; with `after_exit`: if none is running; with `interval`:
 * if none started within `min_interval_ms`. With `key_path` only executions count whose triggering properties have
 * the same value at that path. The caller holds the contact's lock.
 */
export async function mayEnter(
  trx: Trx,
  workspaceId: WorkspaceId,
  entry: { contactId: string; workflowId: string; now: Date },
  reEntry: ReEntry | null,
  properties: JsonObject,
): Promise<boolean> {
  const mode = reEntry?.mode ?? 'every'
  if (!reEntry || mode === 'every') return true
  const { contactId, workflowId, now } = entry
  const since = new Date(now.getTime() - (reEntry.min_interval_ms ?? 0))
  return !(await isEntered(trx, workspaceId, {
    contactId,
    workflowId,
    liveOnly: mode === 'after_exit',
    since: mode === 'interval' ? since : null,
    key: keyOf(reEntry.key_path, properties),
  }))
}

/** Whether a contact has entered a workflow so often within the last hour that nothing starts it for them again. */
export function isEnteredTooOften(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactId, workflowId, now }: { contactId: string; workflowId: string; now: Date },
): Promise<boolean> {
  const since = new Date(now.getTime() - HOUR_MS)
  const times = limits.entriesPerHourMax
  return isEnteredOften(trx, workspaceId, { contactId, workflowId, since, times })
}

function keyOf(keyPath: string | undefined, properties: JsonObject) {
  const parts = keyPath ? parsePath(keyPath.replace(/^(event|properties)\./, '')) : null
  if (!parts) return null
  return { path: parts.map((part) => part.name), value: readPath(properties, parts)[0] }
}
