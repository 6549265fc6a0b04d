// Tells an automation contact what became of a mail to them: an automation event `email.<name>`.

import type { NewAutomationEvent } from '../../db/events/writes.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type RecordDeps, recordAutomationEvent } from './record.ts'

/** The mail and the contact who hears of it. */
export interface MailOfContact {
  workspace_id: WorkspaceId
  /** The contact's address, in lower case. */
  email: string
  email_id: string
  subject: string
  workflow_id: string | null
  execution_id: string | null
  node_id: string | null
  /** Of the execution that sent the mail; 0 for other mail. */
  chain_depth: number
}

export interface MailEvent {
  name: 'delivered' | 'opened' | 'clicked' | 'bounced' | 'unsubscribed'
  at: Date
  /** What the name adds to the event's properties: type, subtype, link, ... */
  data?: JsonObject
}

/** Records it in the caller's transaction, which takes the contact's lock: call it in the order of the contacts' ids. */
export async function recordMailEvent(
  deps: RecordDeps,
  mail: MailOfContact,
  event: MailEvent,
): Promise<void> {
  const { name, at, data } = event
  await record(deps, mail, { name, at, chainDepth: mail.chain_depth, ...(data ? { data } : {}) })
}

/**
 * Records `email.sent` alike.
 * @param mail `chain_depth` undefined: no execution has sent it, and what it starts begins a chain of its own
 */
export async function recordSentMail(
  deps: RecordDeps,
  mail: Omit<MailOfContact, 'chain_depth'> & { chain_depth?: number | undefined },
  at: Date,
): Promise<void> {
  const data = { recipient: mail.email }
  await record(deps, mail, { name: 'sent', at, data, chainDepth: mail.chain_depth })
}

async function record(deps: RecordDeps, mail: Mail, event: Happened): Promise<void> {
  await recordAutomationEvent(deps, mail.workspace_id, toAutomationEvent(mail, event))
}

type Mail = Omit<MailOfContact, 'chain_depth'>
type Happened = { name: string; at: Date; data?: JsonObject; chainDepth?: number | undefined }

/** The automation event that a mail event becomes. */
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
    },
    at: event.at,
    contactProperties: null,
    createContact: false,
    ...(event.chainDepth === undefined ? {} : { chainDepth: event.chainDepth }),
  }
}
