// Starts the executions of one time of a schedule for the next members of its audience, in one commit.
import type { Trx } from '../../db/connect.ts'
import type { ContactRow } from '../../db/contacts/reads.ts'
import {
  boundLockWaits,
  insertMissingMembers,
  LOCK_WAIT_MS,
  lockContactsBy,
} from '../../db/contacts/writes.ts'
import { isLockTimeout } from '../../db/failures.ts'
import { listLeft } from '../../db/opt-outs/reads.ts'
import { listMemberEmails, listMembersAmong, type ScheduleRow } from '../../db/schedules/reads.ts'
import { insertScheduledStarts, lockSchedule, updateSchedule } from '../../db/schedules/writes.ts'
import { conditionNeeds } from '../../rules/conditions/needs.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import { matchTrigger } from '../../rules/design/triggers.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import { loadFactsOfContacts } from '../events/contactFacts.ts'
import { listEntryRefusals } from '../events/reEntry.ts'
import { lookAtNew } from '../segments/lookAtNew.ts'
import { type InTrx, transact } from '../transact.ts'
import { isLongPause, isOther, type TurnDeps } from './row.ts'

/** Members that are locked together. */
const PAGE = 50

/** A schedule whose time has come. */
type DueSchedule = ScheduleRow & { due_at: Date }

/**
 * How long the first member is waited for at most; behind who holds them others may queue, who all come before. Shorter than others of the process
 * wait for a connection (5 s): pages of many workspaces may have all of them.
 */
const WAIT_MAX_MS = 3_000

/**
 * Goes on after the last member that was looked at. Who left the audience or the workflow, fails the filter, or may not enter again is passed over.
 * A contact that somebody holds ends the page before them, and is waited for alone, so that the page keeps nobody from the others; for a second, since
 * each of many schedules would else keep a connection for as long as the contact is held. The next page waits again, a tenth of the time for
 * which no page has come on.
 * @returns whether no member is left
 */
export async function startMembers(deps: TurnDeps, row: DueSchedule): Promise<boolean> {
  const { workspace_id: workspaceId, audience_id, after_email } = row
  const page = { after: after_email, limit: PAGE }
  const emails = await listMemberEmails(deps.db, workspaceId, audience_id, page)
  const [first] = emails
  if (first === undefined) return true
  // Somebody is making a contact of one of them: the first may be another.
  if (!(await makeContacts(deps, row, emails))) await makeContacts(deps, row, [first])
  if (await startPage(deps, row, emails)) return false
  const stuck_ms = deps.now().getTime() - (row.paged_at ?? row.due_at).getTime()
  const wait_ms = Math.min(Math.max(LOCK_WAIT_MS, Math.round(stuck_ms / 10)), WAIT_MAX_MS)
  await unlessHeld(() => startPage(deps, row, [first], wait_ms))
  return false
}

/** @returns false: a lock was waited for in vain, and nothing was done */
async function unlessHeld(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act()
    return true
  } catch (err) {
    if (isLockTimeout(err)) return false
    throw err
  }
}

/** Makes contacts of those that are none yet. @returns as `unlessHeld` */
function makeContacts(
  deps: TurnDeps,
  { workspace_id: workspaceId, audience_id }: DueSchedule,
  emails: readonly string[],
): Promise<boolean> {
  const made = emails.map((email) => ({ id: deps.newId('contact'), email }))
  return unlessHeld(() =>
    transact(deps, async (inTrx) => {
      const { db: trx } = inTrx
      const now = inTrx.now()
      await boundLockWaits(trx)
      const contacts = await insertMissingMembers(trx, workspaceId, audience_id, made, now)
      await lookAtNew(inTrx, workspaceId, contacts, now)
    }),
  )
}

/**
 * @param wait_ms for how long those are waited for whom somebody holds; absent: they end the page
 * @returns false: somebody holds the first of them, and nothing was done
 */
function startPage(
  deps: TurnDeps,
  row: DueSchedule,
  emails: readonly string[],
  wait_ms?: number,
): Promise<boolean> {
  const { workspace_id: workspaceId, workflow_id, node_id } = row
  const key = { workflowId: workflow_id, nodeId: node_id }
  const held = wait_ms === undefined ? 'skip' : 'wait'
  return transact(deps, async (inTrx) => {
    const { db: trx } = inTrx
    if (wait_ms !== undefined) await boundLockWaits(trx, wait_ms)
    const locked = await lockContactsBy(trx, workspaceId, 'email', emails, held)
    const byEmail = new Map(locked.map((contact) => [contact.email, contact]))
    const firstHeld = held === 'skip' ? emails.findIndex((email) => !byEmail.has(email)) : -1
    const through = firstHeld < 0 ? emails : emails.slice(0, firstHeld)
    if (through.length === 0) return false
    // After the contacts, so that whoever pauses the workflow waits for none of them.
    if (wait_ms !== undefined) await boundLockWaits(trx)
    const now = await lockSchedule(trx, workspaceId, key)
    if (!now || isOther(now, row)) return true
    // Who held a contact may have taken them out of the audience meanwhile.
    const members = new Set(await listMembersAmong(trx, workspaceId, row.audience_id, through))
    const at = inTrx.now()
    const contacts = through.flatMap((email) =>
      members.has(email) ? (byEmail.get(email) ?? []) : [],
    )
    const starts = (await listStartable(inTrx, row, contacts, at)).map(({ id, email }) => ({
      id: inTrx.newId('execution'),
      contact_id: id,
      email,
    }))
    if (starts.length > 0) {
      const { version, due_at: scheduledAt } = row
      await insertScheduledStarts(trx, workspaceId, { ...key, version, scheduledAt, starts }, at)
      inTrx.wake('dripline_outbox')
    }
    // Who is gone is listed no more, and if they were erased their address is kept nowhere.
    await updateSchedule(trx, workspaceId, key, {
      after_email: contacts.at(-1)?.email ?? row.after_email,
      paged_at: at,
      ...(isLongPause(row, at) ? { busy_since: at } : {}),
    })
    return true
  })
}

/** Those for whom the schedule starts an execution, in their order. The caller holds their locks. Reads for all of them at once. */
async function listStartable(
  { db: trx, addressMac }: InTrx<TurnDeps>,
  row: DueSchedule,
  contacts: readonly ContactRow[],
  now: Date,
): Promise<ContactRow[]> {
  if (contacts.length === 0) return []
  const { workspace_id: workspaceId, workflow_id: workflowId, due_at } = row
  const macs = new Map(contacts.map(({ id, email }) => [id, addressMac(workspaceId, email)]))
  const of = { workflowId, audienceId: row.audience_id, hmacs: [...macs.values()] }
  const left = await listLeft(trx, workspaceId, of)
  const properties = { scheduled_at: due_at.getTime() }
  const holds = await createFilter(trx, row, contacts, { properties, now })
  const asking = contacts.filter(
    (contact) => !left.has(macs.get(contact.id)?.toString('hex') ?? '') && holds(contact),
  )
  if (asking.length === 0) return []
  const reEntry = row.re_entry as ReEntry | null
  const entries = asking.map(({ id }) => ({ contactId: id, workflowId, now, reEntry, properties }))
  const refusals = await listEntryRefusals(trx, workspaceId, entries)
  return asking.filter((_, i) => !refusals[i])
}

/** Makes the function that says whether the filter of the schedule holds for a contact. */
async function createFilter(
  trx: Trx,
  { workspace_id, filter }: ScheduleRow,
  contacts: readonly ContactRow[],
  happened: { properties: { scheduled_at: number }; now: Date },
): Promise<(contact: ContactRow) => boolean> {
  if (!filter) return () => true
  const about = ({ id, email, first_seen: firstSeen, properties }: ContactRow) => ({
    ...happened,
    email,
    contact: { id, firstSeen, properties },
  })
  const needs = conditionNeeds(filter as Condition)
  const factsOf = await loadFactsOfContacts(trx, workspace_id, contacts.map(about), needs)
  return (contact) => matchTrigger([{ filter }], factsOf(about(contact))) !== null
}
