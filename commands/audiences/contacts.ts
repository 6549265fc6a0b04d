// Changes the contacts of an audience and its counts in one transaction; joining and leaving become automation events.

import type {
  AudienceContactChange,
  NewAudienceContact,
} from '../../api/audiences/contactSchemas.ts'
import type { ApiDeps } from '../../api/http/env.ts'
import type { AudienceContactRow } from '../../db/audiences/contactReads.ts'
import {
  deleteAudienceContact,
  insertAudienceContacts,
  lockAudienceContacts,
  updateAudienceContacts,
} from '../../db/audiences/contactWrites.ts'
import { lockAudience, updateAudienceCounts } from '../../db/audiences/writes.ts'
import type { Trx } from '../../db/connect.ts'
import { findContactEmails } from '../../db/contacts/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { recordAutomationEvent } from '../events/record.ts'

type Deps = Pick<ApiDeps, 'db' | 'newId' | 'now' | 'wake'>

export interface AudienceRef {
  workspaceId: WorkspaceId
  audienceId: string
}

export interface UpsertedContact {
  row: AudienceContactRow
  created: boolean
}

/**
 * Adds contacts, or changes those that the audience knows (properties are merged), in the order given; an
 * address may come twice.
 * @param inputs with valid addresses
 * @returns one result for each input, or undefined when the workspace has no such audience
 */
export function upsertAudienceContacts(
  deps: Deps,
  ref: AudienceRef,
  inputs: NewAudienceContact[],
): Promise<UpsertedContact[] | undefined> {
  return inAudience(deps, ref, async (trx, now) => {
    const emails = inputs.map((input) => normalizeContactEmail(input.email) ?? '')
    const stored = await lockAudienceContacts(trx, ref.audienceId, [...new Set(emails)])
    const before = new Map(stored.map((row) => [row.email, row]))
    const after = new Map<string, AudienceContactRow>()
    const results = inputs.map((input, index) => {
      const email = emails[index] ?? ''
      const known = after.get(email) ?? before.get(email)
      const row = change(known ?? newRow(deps, ref, email, now), input, now)
      after.set(email, row)
      return { row, created: known === undefined }
    })
    const rows = [...after.values()]
    const joined = rows.filter((row) => !before.has(row.email))
    await insertAudienceContacts(trx, joined)
    await updateAudienceContacts(
      trx,
      rows.filter((row) => before.has(row.email)),
    )
    const left = stored.filter((row) => !row.is_subscribed).length
    return {
      result: results,
      contacts: joined.length,
      unsubscribers: rows.filter((row) => !row.is_subscribed).length - left,
      event: { name: 'audience.joined', emails: joined.map((row) => row.email) },
    }
  })
}

/** @returns the changed contact, null when the audience does not hold it, undefined without such an audience */
export function updateAudienceContact(
  deps: Deps,
  ref: AudienceRef,
  email: string,
  input: AudienceContactChange,
): Promise<AudienceContactRow | null | undefined> {
  return inAudience(deps, ref, async (trx, now) => {
    const [known] = await lockAudienceContacts(trx, ref.audienceId, [email])
    if (!known) return { result: null }
    const row = change(known, input, now)
    await updateAudienceContacts(trx, [row])
    const unsubscribers = Number(!row.is_subscribed) - Number(!known.is_subscribed)
    return { result: row, unsubscribers }
  })
}

/** @returns false when the audience does not hold it, undefined without such an audience */
export function removeAudienceContact(
  deps: Deps,
  ref: AudienceRef,
  email: string,
): Promise<boolean | undefined> {
  return inAudience(deps, ref, async (trx) => {
    const [known] = await lockAudienceContacts(trx, ref.audienceId, [email])
    if (!known) return { result: false }
    await deleteAudienceContact(trx, known.id)
    return {
      result: true,
      contacts: -1,
      unsubscribers: known.is_subscribed ? 0 : -1,
      event: { name: 'audience.left', emails: [email] },
    }
  })
}

interface Outcome<T> {
  result: T
  /** How far the counts move. */
  contacts?: number
  unsubscribers?: number
  /** What those of the addresses that are automation contacts hear. */
  event?: { name: string; emails: string[] }
}

/** Runs a change under the audience's lock, then moves its counts and records its events. */
async function inAudience<T>(
  deps: Deps,
  ref: AudienceRef,
  work: (trx: Trx, now: Date) => Promise<Outcome<T>>,
): Promise<T | undefined> {
  const now = deps.now()
  const done = await deps.db.transaction().execute(async (trx) => {
    const audience = await lockAudience(trx, ref.workspaceId, ref.audienceId)
    if (!audience) return undefined
    const { result, contacts = 0, unsubscribers = 0, event } = await work(trx, now)
    await updateAudienceCounts(trx, ref.audienceId, { contacts, unsubscribers })
    let wake = false
    for (const email of await findContactEmails(trx, ref.workspaceId, event?.emails ?? [])) {
      const recorded = await recordAutomationEvent(
        trx,
        { newId: deps.newId, now },
        {
          workspaceId: ref.workspaceId,
          eventId: null,
          eventName: event?.name ?? '',
          email,
          properties: { audience_id: audience.id, audience_name: audience.name },
          at: now,
          contactProperties: null,
          createContact: false,
        },
      )
      wake ||= recorded?.wroteOutbox ?? false
    }
    return { result, wake }
  })
  if (done?.wake) deps.wake('dripline_outbox')
  return done?.result
}

function newRow(deps: Deps, ref: AudienceRef, email: string, now: Date): AudienceContactRow {
  return {
    id: deps.newId('audienceContact'),
    audience_id: ref.audienceId,
    workspace_id: ref.workspaceId,
    email,
    first_name: null,
    last_name: null,
    is_subscribed: true,
    properties: {},
    created_at: now,
    updated_at: now,
  }
}

/** A row with what the input names; the rest stays. */
function change(
  row: AudienceContactRow,
  input: AudienceContactChange,
  now: Date,
): AudienceContactRow {
  return {
    ...row,
    first_name: input.first_name === undefined ? row.first_name : input.first_name,
    last_name: input.last_name === undefined ? row.last_name : input.last_name,
    is_subscribed: input.is_subscribed ?? row.is_subscribed,
    properties: input.properties
      ? mergeProperties(row.properties, input.properties)
      : row.properties,
    updated_at: now,
  }
}
