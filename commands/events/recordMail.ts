// Records what became of an email for its automation contact, as an automation event `email.<name>`.

import { listAwaited } from '../../db/events/receivers.ts'
import { depthOf, insertUnawaitedEvents, type NewAutomationEvent } from '../../db/events/writes.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type RecordDeps, recordAutomationEvent } from './record.ts'

/** An email and the contact that it went to. */
export interface MailOfContact {
  workspace_id: WorkspaceId
  /** The contact's address, in lower case. */
  email: string
  email_id: string
  subject: string
  workflow_id: string | null
  execution_id: string | null
  node_id: string | null
  /** Chain depth of the execution that sent the email; 0 if none did. */
  chain_depth: number
}

export interface MailEvent {
  name: 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'unsubscribed'
  at: Date
  /** Further properties of the event: type, subtype, link, ... */
  data?: JsonObject
  /** The execution whose segment records it: it has left its wait. */
  byExecution?: string | undefined
}

/**
 * Records the event in the caller's transaction. It locks the contact, so call it in the order of the contacts'
 * ids.
 */
export async function recordMailEvent(
  deps: RecordDeps,
  mail: MailOfContact,
  event: MailEvent,
): Promise<void> {
  await record(deps, mail, { ...event, chainDepth: mail.chain_depth })
}

/**
 * Records `email.sent` in the same way.
 * @param mail `chain_depth` undefined: no execution sent the email, so executions that it starts begin a new chain
 */
export async function recordSentMail(
  deps: RecordDeps,
  mail: Omit<MailOfContact, 'chain_depth'> & { chain_depth?: number | undefined },
  at: Date,
): Promise<void> {
  const data = { recipient: mail.email }
  const byExecution = mail.execution_id ?? undefined
  await record(deps, mail, { name: 'sent', at, data, chainDepth: mail.chain_depth, byExecution })
}

/** A mail event of a contact whose lock the caller holds. */
export type MailEventOfContact = Omit<MailOfContact, 'workspace_id'> &
  Omit<MailEvent, 'name'> & { contact_id: string; name: MailEvent['name'] | 'sent' }

/**
 * Records mail events. Those of contacts for whom no trigger and no wait is interested in them take one statement together.
 * @param awaitedMax how many of the others are recorded, each of which takes several statements
 * @returns those that were recorded
 */
export async function recordMailEvents<Event extends MailEventOfContact>(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  events: readonly Event[],
  awaitedMax: number = events.length,
): Promise<Event[]> {
  if (events.length === 0) return []
  const awaited = await listAwaited(deps.db, workspaceId, events)
  const quiet = events.filter((event) => !awaited.has(event.contact_id))
  const rows = quiet.map((event) => {
    const made = toAutomationEvent({ ...event, workspace_id: workspaceId }, happenedOf(event))
    const { eventName, email, properties, at } = made
    const id = deps.newId('automationEvent')
    const { contact_id } = event
    return { id, contact_id, event_name: eventName, email, properties, at, depth: depthOf(made) }
  })
  await insertUnawaitedEvents(deps.db, workspaceId, rows, deps.now())
  const loud = events.filter((event) => awaited.has(event.contact_id)).slice(0, awaitedMax)
  for (const event of loud) {
    await record(deps, { ...event, workspace_id: workspaceId }, happenedOf(event))
  }
  return [...quiet, ...loud]
}

const happenedOf = ({
  name,
  at,
  data,
  chain_depth,
  byExecution,
}: MailEventOfContact): Happened => ({
  name,
  at,
  ...(data ? { data } : {}),
  chainDepth: chain_depth,
  byExecution,
})

async function record(deps: RecordDeps, mail: Mail, event: Happened): Promise<void> {
  await recordAutomationEvent(deps, mail.workspace_id, toAutomationEvent(mail, event))
}

type Mail = Omit<MailOfContact, 'chain_depth'>
type Happened = Omit<MailEvent, 'name'> & { name: string; chainDepth?: number | undefined }

/** Makes the automation event of a mail event. */
export function toAutomationEvent(mail: Mail, event: Happened): NewAutomationEvent {
  return {
    eventId: null,
    eventName: `email.${event.name}`,
    email: mail.email,
    properties: {
      email_id: mail.email_id,
      subject: mail.subject,
      workflow_id: mail.workflow_id,
      execution_id: mail.execution_id,
      node_id: mail.node_id,
      ...event.data,
      status: event.name,
    },
    at: event.at,
    contactProperties: null,
    createContact: false,
    ...(event.chainDepth === undefined ? {} : { chainDepth: event.chainDepth }),
    byExecution: event.byExecution,
  }
}
