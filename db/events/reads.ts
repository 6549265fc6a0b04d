// Reads automation events of a contact.

import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

export type AutomationEventRow = Row<'automation_events'>

/** A page of a contact's events after the row id `after`, newest first. */
export function listContactEvents(
  db: Db,
  contactId: string,
  page: { after: string | null; limit: number },
): Promise<AutomationEventRow[]> {
  return db
    .selectFrom('automation_events')
    .selectAll()
    .where('contact_id', '=', contactId)
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}
