// Writes an email with its deliveries, and records `email.sent` for automation contacts, in the caller's
// transaction.

import { lockContactIds } from '../../db/contacts/writes.ts'
import { insertEmail, type NewEmail, type RecipientMacs } from '../../db/emails/insert.ts'
import { insertEmails, isPlain } from '../../db/emails/insertMany.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { RecordDeps } from '../events/record.ts'
import { recordMailEvents, recordSentMail } from '../events/recordMail.ts'

/** A recipient who is an automation contact. */
export interface ToldContact {
  /** In lower case. */
  email: string
  /** Chain depth of the execution that sends the email; absent if none does. */
  chainDepth?: number
}

/**
 * Without contacts this is one statement, for which `transact.one` is enough (`groups.ts`).
 * @param contacts in the order of their ids, because each is locked
 */
export async function writeEmail(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  email: NewEmail,
  contacts: ToldContact[],
): Promise<void> {
  // Before the statement: if its connection breaks, nobody knows whether it was committed, and the wake-up is sent.
  deps.wake('dripline_deliveries')
  await insertOne(deps, workspaceId, email)
  await tellSent(deps, workspaceId, email, contacts)
}

async function tellSent(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  email: NewEmail,
  contacts: readonly ToldContact[],
): Promise<void> {
  const at = email.row.created_at
  for (const contact of contacts) {
    const mail = {
      workspace_id: workspaceId,
      email: contact.email,
      ...mailOf(email),
      chain_depth: contact.chainDepth,
    }
    await recordSentMail({ ...deps, now: () => at }, mail, at)
  }
}

/**
 * Writes emails of the API with one statement for those without attachments, and records their `email.sent`. Without contacts and
 * without others that statement is all, for which `transact.one` is enough (`acceptMany.ts`).
 * @param emails contacts may be those of several of them
 */
export async function writeEmailsTo(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  emails: readonly { email: NewEmail; contacts: readonly ToldContact[] }[],
): Promise<void> {
  deps.wake('dripline_deliveries')
  const told = emails.flatMap(({ contacts }) => contacts.map((contact) => contact.email))
  // All at first, in the order of locks: each email takes its own in that of its recipients.
  if (told.length > 0) await lockContactIds(deps.db, workspaceId, [...new Set(told)])
  const plain = emails.map(({ email }) => email).filter(isPlain)
  if (plain.length > 0) await insertEmails(deps.db, workspaceId, plain, macsOf(deps, workspaceId))
  for (const { email, contacts } of emails) {
    if (!isPlain(email)) await insertOne(deps, workspaceId, email)
    if (contacts.length > 0) await tellSent(deps, workspaceId, email, contacts)
  }
}

/**
 * Writes the emails of a segment in one statement, and records their `email.sent` together, since a round trip for each would
 * hold the contact's lock as long again.
 * @param contact for whom they are, also where they go to the team alone; the caller holds their lock
 */
export async function writeEmails(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  emails: readonly NewEmail[],
  contact: { id: string; email: string; chainDepth: number },
): Promise<void> {
  if (emails.length === 0) return
  deps.wake('dripline_deliveries')
  const plain = emails.filter(isPlain)
  if (plain.length > 1) await insertEmails(deps.db, workspaceId, plain, macsOf(deps, workspaceId))
  for (const one of plain.length > 1 ? emails.filter((email) => !isPlain(email)) : emails) {
    await insertOne(deps, workspaceId, one)
  }
  const forContact = emails.filter(({ recipients, team }) => recipients.length > team.length)
  const sent = forContact.map((one) => ({
    contact_id: contact.id,
    email: contact.email,
    ...mailOf(one),
    chain_depth: contact.chainDepth,
    name: 'sent' as const,
    at: one.row.created_at,
    data: { recipient: contact.email },
    byExecution: one.row.execution_id ?? undefined,
  }))
  await recordMailEvents(deps, workspaceId, sent)
}

/** What `email.sent` tells of an email. */
const mailOf = ({ row }: NewEmail) => ({
  email_id: row.id,
  subject: row.subject,
  workflow_id: row.workflow_id,
  execution_id: row.execution_id,
  node_id: row.node_id,
})

/** Makes a function that gives the HMACs for the recipients of an email. */
export const macsOf =
  ({ addressMac }: Pick<RecordDeps, 'addressMac'>, workspaceId: WorkspaceId) =>
  ({ row, recipients, team }: NewEmail): RecipientMacs => {
    const own = recipients.map((address) => addressMac(workspaceId, address))
    if (row.category !== 'marketing') return { left: [], own }
    // What stops the mail of the contact stops the copies of it.
    const left = own.map((mac, i) => (team.includes(recipients[i] ?? '') ? (own[0] ?? mac) : mac))
    return { left, own }
  }

const insertOne = (deps: RecordDeps, workspaceId: WorkspaceId, email: NewEmail): Promise<void> =>
  insertEmail(deps.db, workspaceId, email, macsOf(deps, workspaceId)(email))
