// Writes contacts that are given to a locked audience: adds those that it does not have, and changes the others.

import { setImmediate as turn } from 'node:timers/promises'
import {
  type AudienceContactFields,
  type AudienceContactRow,
  findAudienceContactProperties,
  findAudienceEmails,
  listPropertiesBytes,
} from '../../db/audiences/contactReads.ts'
import {
  insertAudienceContacts,
  lockAudienceContacts,
  updateAudienceContacts,
} from '../../db/audiences/contactWrites.ts'
import { lockContactIds } from '../../db/contacts/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import {
  type AudienceContactChange,
  changed,
  type ReadAudienceContact,
  toChanged,
} from './change.ts'
import { type OwnOptOuts, refuseOptedOut } from './optOut.ts'

/** Stored properties that are read, merged and written at once. */
const PAGE_BYTES_MAX = 4 * MEBIBYTE
/** After so much merging others of the process come in between. */
const TURN_MS = 10

export interface Given {
  /** Among those of the call. */
  place: number
  change: AudienceContactChange
}

interface Asked {
  audienceId: string
  at: Date
  /** By address (lower case), each in the order of the call. */
  given: ReadonlyMap<string, readonly Given[]>
  optOuts: OwnOptOuts
}

export type ContactRefusal = Refusal<'contact_properties_refused' | 'opted_out'>

interface Outcome {
  /** By address: as it is, and as it was; null: it has joined. Not those of whom all was refused. */
  written: Map<string, { before: AudienceContactFields | null; row: AudienceContactFields }>
  /** By place. */
  refused: Map<number, ContactRefusal>
}

type Deps = InTrx<Pick<CommandDeps, 'db' | 'newId'>>

/**
 * Nodes add and remove contacts beside this, under the lock of the automation contact: it takes that of whoever joins before it
 * writes any row. Who is added or removed by a node at this moment goes through it once more.
 */
export async function writeContacts(
  deps: Deps,
  workspaceId: WorkspaceId,
  asked: Asked,
): Promise<Outcome> {
  const outcome: Outcome = { written: new Map(), refused: new Map() }
  const { audienceId, given } = asked
  let left = [...given.keys()]
  while (left.length > 0) {
    const there = await findAudienceEmails(deps.db, workspaceId, audienceId, left)
    const absent = left.filter((email) => !there.has(email))
    await lockContactIds(deps.db, workspaceId, absent)
    const added = await addContacts(deps, workspaceId, { ...asked, emails: absent }, outcome)
    const others = left.filter((email) => !added.has(email))
    const known = await lockAudienceContacts(deps.db, workspaceId, audienceId, others)
    await changeContacts(deps, workspaceId, { ...asked, known }, outcome)
    const done = new Set(known.map(({ email }) => email))
    left = others.filter((email) => !done.has(email))
  }
  return outcome
}

/** @returns the addresses that it has added, or refused; the others are there already */
async function addContacts(
  { db, newId }: Deps,
  workspaceId: WorkspaceId,
  { emails, ...asked }: Asked & { emails: readonly string[] },
  { written, refused }: Outcome,
): Promise<Set<string>> {
  const { audienceId, at, optOuts } = asked
  const apply = createApply(asked, refused)
  const rows: AudienceContactRow[] = []
  const done = new Set<string>()
  for (const email of emails) {
    const isSubscribed = !optOuts.has(email)
    const who = { id: newId('audienceContact'), audienceId, workspaceId, email }
    const fresh = newRow({ ...who, isSubscribed, at })
    const row = await apply(fresh)
    if (row === fresh) done.add(email)
    else rows.push({ ...row, properties: row.properties ?? {} })
  }
  const added = await insertAudienceContacts(db, workspaceId, rows)
  for (const { properties, ...row } of rows) {
    if (!added.has(row.email)) continue
    written.set(row.email, { before: null, row })
    done.add(row.email)
  }
  return done
}

/** Changes locked contacts. Properties are read where some are given, a page of them at a time: the stored ones may be large. */
async function changeContacts(
  { db }: Deps,
  workspaceId: WorkspaceId,
  { known, ...asked }: Asked & { known: readonly AudienceContactFields[] },
  { written, refused }: Outcome,
): Promise<void> {
  const { given } = asked
  const apply = createApply(asked, refused)
  const write = async (contacts: readonly ReadAudienceContact[]) => {
    const rows = []
    for (const before of contacts) {
      const row = await apply(before)
      if (row === before) continue
      rows.push(toChanged(before, row))
      written.set(row.email, { before: withoutProperties(before), row: withoutProperties(row) })
    }
    await updateAudienceContacts(db, workspaceId, rows)
  }
  const isGiven = ({ email }: AudienceContactFields) =>
    given.get(email)?.some(({ change }) => change.properties) === true
  await write(known.filter((row) => !isGiven(row)).map((row) => ({ ...row, properties: null })))
  const merging = known.filter(isGiven)
  const ids = merging.map(({ id }) => id)
  const bytes = await listPropertiesBytes(db, workspaceId, ids)
  for (const page of pagesOf(merging, ({ id }) => bytes.get(id) ?? 0)) {
    const stored = await findAudienceContactProperties(
      db,
      workspaceId,
      page.map(({ id }) => id),
    )
    await write(page.map((row) => ({ ...row, properties: stored.get(row.id) ?? null })))
  }
}

/** Makes what applies all that is given of a contact, and notes what is refused. It returns the same contact where all of it is. */
function createApply({ given, at, optOuts }: Asked, refused: Outcome['refused']) {
  let began = performance.now()
  return async (contact: ReadAudienceContact): Promise<ReadAudienceContact> => {
    let after = contact
    for (const { place, change } of given.get(contact.email) ?? []) {
      const next = refuseOptedOut(optOuts, contact.email, change) ?? changed(after, change, at)
      // A contact that a node has added meanwhile is asked once more.
      refused.delete(place)
      if (isRefusal(next)) refused.set(place, next)
      else after = next
      if (performance.now() - began < TURN_MS) continue
      await turn()
      began = performance.now()
    }
    return after
  }
}

/** Splits what is in order into pages of `PAGE_BYTES_MAX`; what is larger has a page alone. */
function* pagesOf<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<T[]> {
  let page: T[] = []
  let bytes = 0
  for (const item of items) {
    if (page.length > 0 && bytes + bytesOf(item) > PAGE_BYTES_MAX) {
      yield page
      page = []
      bytes = 0
    }
    page.push(item)
    bytes += bytesOf(item)
  }
  if (page.length > 0) yield page
}

/** What stays in memory until the last one is written. */
function withoutProperties({ properties, ...fields }: ReadAudienceContact): AudienceContactFields {
  return fields
}

function newRow(of: {
  id: string
  audienceId: string
  workspaceId: WorkspaceId
  email: string
  isSubscribed: boolean
  at: Date
}): AudienceContactRow {
  return {
    id: of.id,
    audience_id: of.audienceId,
    workspace_id: of.workspaceId,
    email: of.email,
    first_name: null,
    last_name: null,
    is_subscribed: of.isSubscribed,
    properties: {},
    created_at: of.at,
    updated_at: of.at,
    leave_copied: null,
  }
}
