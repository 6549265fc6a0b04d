// Tells an automation contact what became of a mail to him: an automation event `email.<name>`.

import type { Trx } from '../../db/connect.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { NewId, WorkspaceId } from '../../rules/ids.ts'
import { recordAutomationEvent } from './record.ts'

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

/**
 * Records it in the caller's transaction, which takes the contact's lock: call it in the order of the contacts' ids.
 * @returns whether the outbox was written, so that its reader is to be woken after the commit
 */
export async function recordMailEvent(
  trx: Trx,
  deps: { newId: NewId; now: Date },
  mail: MailOfContact,
  event: MailEvent,
): Promise<boolean> {
  const recorded = await recordAutomationEvent(trx, deps, {
    workspaceId: mail.workspace_id,
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
    chainDepth: mail.chain_depth,
  })
  return recorded?.wroteOutbox ?? false
}
