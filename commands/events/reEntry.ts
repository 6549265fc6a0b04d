// Whether a contact may enter a workflow once more, by the trigger's re_entry rule.

import { sql } from 'kysely'
import type { Trx } from '../../db/connect.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import { parsePath, readPath } from '../../rules/paths.ts'

/**
 * `once`: no execution of it before; `after_exit`: none that still lives; `interval`: none begun within
 * `min_interval_ms`. With `key_path`, only executions whose triggering properties held the same value there count.
 * The caller holds the contact's lock.
 */
export async function mayEnter(
  trx: Trx,
  entry: { contactId: string; workflowId: string; now: Date },
  reEntry: ReEntry | null,
  properties: JsonObject,
): Promise<boolean> {
  const mode = reEntry?.mode ?? 'every'
  if (!reEntry || mode === 'every') return true
  const since = new Date(entry.now.getTime() - (reEntry.min_interval_ms ?? 0))
  const { rows } = await sql`
    select from executions x
    left join automation_events a on a.id = x.trigger_event_id
    where x.contact_id = ${entry.contactId} and x.workflow_id = ${entry.workflowId}
      and ${mode === 'after_exit' ? sql`x.ended_status is null` : sql`true`}
      and ${mode === 'interval' ? sql`x.created_at > ${since}` : sql`true`}
      and ${sameKey(reEntry.key_path, properties)}
    limit 1
  `.execute(trx)
  return rows.length === 0
}

function sameKey(keyPath: string | undefined, properties: JsonObject) {
  const parts = keyPath ? parsePath(keyPath.replace(/^(event|properties)\./, '')) : null
  if (!parts) return sql`true`
  const key = readPath(properties, parts)[0]
  const path = parts.map((part) => part.name)
  return sql`(coalesce(a.properties, x.properties) #> ${path}::text[])
    is not distinct from ${key === undefined ? null : JSON.stringify(key)}::jsonb`
}
