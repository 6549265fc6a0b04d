// Adds contacts to an audience, or changes those that it already has.

import { type AudienceContactRow, findAudienceContacts } from '../../db/audiences/contactReads.ts'
import { insertAudienceContacts, updateAudienceContacts } from '../../db/audiences/contactWrites.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
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
    const { db, newId } = inTrx
    const emails = contacts.map(({ email }) => normalizeContactEmail(email) ?? '')
    const stored = await findAudienceContacts(db, workspaceId, audienceId, [...new Set(emails)])
    const before = new Map(stored.map((row) => [row.email, row]))
    const after = new Map<string, AudienceContactRow>()
    const value = contacts.map((contact, index) => {
      const email = emails[index] ?? ''
      const known = after.get(email) ?? before.get(email)
      const fresh = () =>
        newRow({ id: newId('audienceContact'), audienceId, workspaceId, email, at })
      const row = changed(known ?? fresh(), contact, at)
      after.set(email, row)
      return { row, created: known === undefined }
    })
    const rows = [...after.values()]
    const joined = rows.filter((row) => !before.has(row.email))
    const known = rows.filter((row) => before.has(row.email))
    await insertAudienceContacts(db, workspaceId, joined)
    await updateAudienceContacts(db, workspaceId, known)
    const members = rows.map((row) => ({ email: row.email, isSubscribed: row.is_subscribed }))
    const call = { audienceId, at, takesBack: isSingle }
    await noteMemberships(inTrx, workspaceId, call, members)
    const left = stored.filter((row) => !row.is_subscribed).length
    return {
      value,
      contacts: joined.length,
      unsubscribers: rows.filter((row) => !row.is_subscribed).length - left,
      event: { name: 'audience.joined', emails: joined.map((row) => row.email) },
    }
  })
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
