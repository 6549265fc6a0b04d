// Adds contacts to an audience, or changes those that it already has.

import type { AudienceContactFields } from '../../db/audiences/contactReads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { AudienceContactChange } from './change.ts'
import { findOwnOptOuts, noteMemberships } from './optOut.ts'
import { withAudience } from './withAudience.ts'
import { type ContactRefusal, type Given, writeContacts } from './writeContacts.ts'

export interface UpsertedContact {
  row: AudienceContactFields
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
 * Applies contacts in the given order. An address may occur twice. Properties are merged; one whose properties exceed the limits then
 * changes nothing, and so does one that subscribes somebody who left by their own act; if such a person joins, they are added unsubscribed.
 * @returns one result for each contact
 */
export function upsertAudienceContacts(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { audienceId, contacts, isSingle }: UpsertContactsInput,
): Promise<(UpsertedContact | ContactRefusal)[] | Refusal<'audience_not_found'>> {
  return withAudience(deps, workspaceId, audienceId, async (inTrx, at) => {
    const given = contacts.map((change, place) => {
      return { place, change, email: normalizeContactEmail(change.email) ?? '' }
    })
    const groups = byEmail(given)
    const optOuts = await findOwnOptOuts(inTrx, workspaceId, audienceId, [...groups.keys()])
    const asked = { audienceId, at, given: groups, optOuts }
    const { written, refused } = await writeContacts(inTrx, workspaceId, asked)
    const changes = [...written.values()]
    const members = changes.map(({ row }) => ({
      email: row.email,
      isSubscribed: row.is_subscribed,
    }))
    const call = { audienceId, at, takesBack: isSingle }
    await noteMemberships(inTrx, workspaceId, call, members)
    const joined = changes.flatMap(({ before, row }) => (before ? [] : row.email))
    const told = new Set<string>()
    return {
      value: given.map(({ place, email }) => {
        const one = written.get(email)
        const refusal = refused.get(place)
        if (refusal) return refusal
        if (!one) throw new Error('a contact was neither written nor refused')
        const created = !one.before && !told.has(email)
        told.add(email)
        return { row: one.row, created }
      }),
      contacts: joined.length,
      unsubscribers: changes.reduce(
        (sum, { before, row }) =>
          sum + Number(!row.is_subscribed) - Number(before?.is_subscribed === false),
        0,
      ),
      event: { name: 'audience.joined', emails: joined },
    }
  })
}

function byEmail(given: readonly (Given & { email: string })[]): Map<string, Given[]> {
  const groups = new Map<string, Given[]>()
  for (const one of given) {
    const group = groups.get(one.email)
    if (group) group.push(one)
    else groups.set(one.email, [one])
  }
  return groups
}
