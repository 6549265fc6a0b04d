// Reads automation events of a contact.

import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { JsonObject, Row } from '../schema.ts'

export type AutomationEventRow = Row<'automation_events'>

/** A page of a contact's events after the row id `after`, newest first. */
export function listContactEvents(
  db: Db,
  workspaceId: WorkspaceId,
  contactId: string,
  page: { after: string | null; limit: number },
): Promise<AutomationEventRow[]> {
  return db
    .selectFrom('automation_events')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contactId)
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** A contact's events of that name from `since` on, the latest first, but those that have ended a wait of that execution, of whatever kind. */
export function listRecentEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  look: { eventName: string; since: Date; byExecution: string; limit: number },
): Promise<{ id: string; properties: JsonObject }[]> {
  return trx
    .selectFrom('automation_events')
    .select(['id', 'properties'])
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contactId)
    .where('event_name', '=', look.eventName)
    .where('at', '>=', look.since)
    .where(({ not, eb, selectFrom }) => {
      const ofWaits = selectFrom('event_waits as w').where('w.execution_id', '=', look.byExecution)
      const endedBy = (column: 'w.consumed_by' | 'w.ended_with') =>
        eb('id', 'in', ofWaits.select(column).where(column, 'is not', null))
      // Two lists, each of which is hashed once. Asked of each event, an execution that has waited ten thousand times would take seconds.
      return not(endedBy('w.consumed_by')).and(not(endedBy('w.ended_with')))
    })
    .orderBy('at', 'desc')
    .limit(look.limit)
    .execute()
}

/** An event with the ids of the executions that it started, in order; undefined: it went with its contact. */
export async function findRecordedEvent(trx: Trx, workspaceId: WorkspaceId, id: string) {
  const event = await trx
    .selectFrom('automation_events')
    .select(['id', 'event_id', 'event_name', 'email', 'at', 'created_at', 'contact_id'])
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!event) return undefined
  const executions = await trx
    .selectFrom('executions')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('trigger_event_id', '=', id)
    .orderBy('id')
    .execute()
  return { ...event, execution_ids: executions.map((execution) => execution.id) }
}

export type RecordedEventRow = Awaited<ReturnType<typeof findRecordedEvent>>
