// Finds all members of a kept segment, silently and in pages, or forgets those of one that is kept no more.
import { setImmediate as turn } from 'node:timers/promises'
import type { Trx } from '../../db/connect.ts'
import { boundLockWaits, lockContactsBy } from '../../db/contacts/writes.ts'
import { isLockTimeout } from '../../db/failures.ts'
import {
  claimFill,
  deleteMembers,
  endFill,
  type FillRow,
  giveBackFill,
  listContactIds,
  lockFill,
  type TakenFill,
  updateFill,
} from '../../db/segments/fills.ts'
import { findKept, findKeptKeys, type KeptSegment } from '../../db/segments/kept.ts'
import { listPageFacts, writeMembers } from '../../db/segments/members.ts'
import { lockSegmentRow } from '../../db/segments/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { toMember } from './move.ts'

export type FillDeps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

/** Contacts that are locked together. */
const PAGE = 100
/** Then it is the turn of the fill that waits longest. */
const PAGES_OF_TURN = 50
/** How long a fill is its worker's: another one goes on with what a dead worker has left. Each page renews it. */
const LEASE_MS = 15_000
/** How soon it is asked again whether those have ended who may not know of the fill. */
const FENCE_MS = 200

const after = (now: Date, ms: number) => new Date(now.getTime() + ms)

/**
 * Takes the fill that is due longest, and does some of its pages, or fewer when it is through, or `isStopping`.
 * @returns whether there was one
 */
export async function fillNext(deps: FillDeps, isStopping: () => boolean): Promise<boolean> {
  const now = deps.now()
  const taken = await transact.one(deps, ({ db }) =>
    claimFill(db, { now, until: after(now, LEASE_MS) }),
  )
  if (!taken) return false
  const { workspace_id: workspaceId, segment_id: segmentId } = taken
  let at: FillRow | null = taken
  for (let pages = 0; at !== null && pages < PAGES_OF_TURN && !isStopping(); pages++) {
    const next: FillRow | null | 'held' = await fillPage(deps, { ...taken, ...at })
    if (next === 'held') break
    at = next
    await turn()
  }
  if (at !== null && !isStopping()) {
    const { generation, after_contact_id } = at
    await transact.one(deps, ({ db }) =>
      giveBackFill(db, workspaceId, { segmentId, generation, after_contact_id, at: deps.now() }),
    )
  }
  return true
}

/**
 * One page, in one commit.
 * @returns where it goes on; null: it is through, somebody else has it, or it is not its time yet; `held`: somebody holds the first contact
 */
async function fillPage(deps: FillDeps, fill: TakenFill): Promise<FillRow | null | 'held'> {
  const { workspace_id: workspaceId, after_contact_id } = fill
  const ids = await listContactIds(deps.db, workspaceId, { after: after_contact_id, limit: PAGE })
  const done = await writePage(deps, fill, ids, 'skip')
  if (done !== 'held') return done
  // Somebody holds the first contact: it is waited for alone, so that the page keeps nobody from the others, and for a second, since
  // other fills stand behind this one.
  try {
    return await writePage(deps, fill, ids.slice(0, 1), 'wait')
  } catch (err) {
    if (isLockTimeout(err)) return 'held'
    throw err
  }
}

function writePage(
  deps: FillDeps,
  fill: TakenFill,
  ids: readonly string[],
  held: 'wait' | 'skip',
): Promise<FillRow | null | 'held'> {
  const { workspace_id: workspaceId, segment_id: segmentId } = fill
  return transact(deps, async (inTrx) => {
    const { db: trx } = inTrx
    if (held === 'wait') await boundLockWaits(trx)
    const contacts = await lockContactsBy(trx, workspaceId, 'id', ids, held)
    const locked = new Set(contacts.map(({ id }) => id))
    // One that is gone meanwhile is not held, but so rare that it may end a page.
    const firstHeld = held === 'skip' ? ids.findIndex((id) => !locked.has(id)) : -1
    const through = firstHeld < 0 ? ids : ids.slice(0, firstHeld)
    if (ids.length > 0 && through.length === 0) return 'held'
    const isThrough = held === 'skip' && ids.length < PAGE && through.length === ids.length
    if (isThrough) await lockSegmentRow(trx, workspaceId, segmentId)
    const row = await lockFill(trx, workspaceId, segmentId)
    if (!row || isOther(row, fill)) return null
    const now = inTrx.now()
    const kept = await findKept(trx, workspaceId, await findKeptKeys(trx, workspaceId))
    const segment = kept.find(({ id }) => id === segmentId)
    if (!fill.is_clear) {
      await updateFill(trx, workspaceId, segmentId, { next_at: after(now, FENCE_MS) })
      return null
    }
    const page = contacts.filter(({ id }) => through.includes(id))
    if (segment) await fillContacts(trx, segment, page, now)
    else if (through.length > 0) await deleteMembers(trx, workspaceId, segmentId, through)
    if (isThrough) {
      await endFill(trx, workspaceId, segmentId, segment !== undefined)
      return null
    }
    const progress = {
      after_contact_id: through.at(-1) ?? row.after_contact_id,
      next_at: after(now, LEASE_MS),
    }
    await updateFill(trx, workspaceId, segmentId, progress)
    return { ...row, ...progress }
  })
}

/** Whether another worker has moved the fill on, or it has begun anew. */
const isOther = (row: FillRow, before: FillRow): boolean =>
  row.generation !== before.generation ||
  row.after_contact_id !== before.after_contact_id ||
  row.fence !== before.fence

/** Looks at locked contacts who were not looked at since the fill began. */
async function fillContacts(
  trx: Trx,
  segment: KeptSegment,
  contacts: Awaited<ReturnType<typeof lockContactsBy>>,
  now: Date,
): Promise<void> {
  const [first] = contacts
  if (!first) return
  const { id, generation, reads, named } = segment
  const asked = { id, generation, ...reads }
  const known = await listPageFacts(trx, first.workspace_id, contacts, asked)
  const found = contacts.flatMap((contact) => {
    const of = known.get(contact.id)
    if (!of || of.is_known) return []
    const { email, first_seen, properties } = contact
    const facts = {
      now: now.getTime(),
      contact: { email, first_seen: first_seen.getTime(), properties },
      event: {},
      trigger: {},
      waitEvents: {},
      steps: {},
      execution: { step_count: 0 },
      eventTimes: of.event_times,
      emailActivity: {},
      audiences: of.audiences,
      segments: named,
    }
    return toMember(segment, contact.id, facts)
  })
  await writeMembers(trx, first.workspace_id, found)
}
