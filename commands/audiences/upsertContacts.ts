// Adds contacts to an audience, or changes those that it already has.

import { type AudienceContactRow, findAudienceEmails } from '../../db/audiences/contactReads.ts'
import {
  insertAudienceContacts,
  lockAudienceContacts,
  updateAudienceContacts,
} from '../../db/audiences/contactWrites.ts'
import { lockContactIds } from '../../db/contacts/writes.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { noteMemberships } from './optOut.ts'
import { type AudienceContactChange, changed, withAudience } from './withAudience.ts'

export interface UpsertedContact {
  row: AudienceContactRow
  created: boolean
}

export interface NewAudienceContact extends AudienceContactChange {
  /** A valid address. */
  email: string
}

export interface UpsertContactsInput {
  audienceId: string
  contacts: NewAudienceContact[]
  /** Whether the call is about one contact. Then it may take back that a call has unsubscribed or removed them. */
  isSingle: boolean
}

/**
 * Applies contacts in the given order. An address may occur twice. Properties are merged.
 * @returns one result for each contact
 */
export function upsertAudienceContacts(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { audienceId, contacts, isSingle }: UpsertContactsInput,
): Promise<UpsertedContact[] | Refusal<'audience_not_found'>> {
  return withAudience(deps, workspaceId, audienceId, async (inTrx, at) => {
    const emails = contacts.map(({ email }) => normalizeContactEmail(email) ?? '')
    const changes = new Map<string, AudienceContactChange[]>()
    for (const [index, contact] of contacts.entries()) {
      const email = emails[index] ?? ''
      const ofEmail = changes.get(email)
      if (ofEmail) ofEmail.push(contact)
      else changes.set(email, [contact])
    }
    const written = await writeContacts(inTrx, workspaceId, { audienceId, at }, changes)
    const rows = [...written.values()].map(({ row }) => row)
    const members = rows.map((row) => ({ email: row.email, isSubscribed: row.is_subscribed }))
    const call = { audienceId, at, takesBack: isSingle }
    await noteMemberships(inTrx, workspaceId, call, members)
    const joined = rows.filter((row) => !written.get(row.email)?.before)
    const seen = new Set<string>()
    return {
      value: emails.map((email): UpsertedContact => {
        const { before, row } = orMissing(written.get(email))
        const created = !before && !seen.has(email)
        seen.add(email)
        return { row, created }
      }),
      contacts: joined.length,
      unsubscribers: [...written.values()].reduce(
        (sum, { before, row }) =>
          sum + Number(!row.is_subscribed) - Number(before?.is_subscribed === false),
        0,
      ),
      event: { name: 'audience.joined', emails: joined.map((row) => row.email) },
    }
  })
}

/** A contact as it was before and is now. `before` null: it has joined. */
interface Written {
  before: AudienceContactRow | null
  row: AudienceContactRow
}

/**
 * Writes contacts of a locked audience. Nodes add and remove contacts beside it under the lock of the automation contact: it takes that of who
 * joins, before anything is written. Who is added or removed by a node at this moment goes through it once more.
 * @param changes by address, at least one for each
 * @returns by address, each of them
 */
async function writeContacts(
  { db, newId }: InTrx<CommandDeps>,
  workspaceId: WorkspaceId,
  { audienceId, at }: { audienceId: string; at: Date },
  changes: ReadonlyMap<string, AudienceContactChange[]>,
): Promise<Map<string, Written>> {
  const written = new Map<string, Written>()
  const applied = (row: AudienceContactRow): AudienceContactRow =>
    (changes.get(row.email) ?? []).reduce(
      (before: AudienceContactRow, change) => changed(before, change, at),
      row,
    )
  let left = [...changes.keys()]
  while (left.length > 0) {
    const there = await findAudienceEmails(db, workspaceId, audienceId, left)
    const absent = left.filter((email) => !there.has(email))
    await lockContactIds(db, workspaceId, absent)
    const fresh = absent.map((email) =>
      applied(newRow({ id: newId('audienceContact'), audienceId, workspaceId, email, at })),
    )
    const added = await insertAudienceContacts(db, workspaceId, fresh)
    for (const row of fresh) if (added.has(row.email)) written.set(row.email, { before: null, row })
    const others = left.filter((email) => !added.has(email))
    const known = (await lockAudienceContacts(db, workspaceId, audienceId, others)).map(
      (before) => ({ before, row: applied(before) }),
    )
    await updateAudienceContacts(
      db,
      workspaceId,
      known.map(({ row }) => row),
    )
    for (const one of known) written.set(one.row.email, one)
    left = others.filter((email) => !written.has(email))
  }
  return written
}

function orMissing(written: Written | undefined): Written {
  if (!written) throw new Error('a contact was neither added nor changed')
  return written
}

function newRow(of: {
  id: string
  audienceId: string
  workspaceId: WorkspaceId
  email: string
  at: Date
}): AudienceContactRow {
  return {
    id: of.id,
    audience_id: of.audienceId,
    workspace_id: of.workspaceId,
    email: of.email,
    first_name: null,
    last_name: null,
    is_subscribed: true,
    properties: {},
    created_at: of.at,
    updated_at: of.at,
    leave_copied: null,
  }
}
