// What a key that is bound to one domain sees of events about the mail of others: that they happened, nothing more.
import type { Db } from '../../db/connect.ts'
import { findReachedEmails } from '../../db/emails/reads.ts'
import { type AutomationEventRow, listContactEvents } from '../../db/events/reads.ts'
import type { Reach } from '../../rules/reach.ts'

/** A page of a contact's events. Those about mail that the caller does not reach have no properties. */
export async function listReachedEvents(
  db: Db,
  reach: Reach,
  contactId: string,
  page: { after: string | null; limit: number },
): Promise<AutomationEventRow[]> {
  const events = await listContactEvents(db, reach.workspaceId, contactId, page)
  if (reach.domainId === null) return events
  const reached = await findReachedEmails(db, reach, [...new Set(events.flatMap(mailOf))])
  return events.map((event) =>
    mailOf(event).every((id) => reached.has(id)) ? event : { ...event, properties: {} },
  )
}

/** The id of the email that an event of the service is about. */
function mailOf({ event_name, properties }: AutomationEventRow): string[] {
  const id = properties['email_id']
  return event_name.startsWith('email.') && typeof id === 'string' ? [id] : []
}
