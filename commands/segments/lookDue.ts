// Looks again at contacts for whom time alone may have changed whether they are in a segment.
import { lockContactNow } from '../../db/contacts/writes.ts'
import { deleteMembers } from '../../db/segments/fills.ts'
import { findKeptKeys } from '../../db/segments/kept.ts'
import { claimDueLooks, type DueLook, putOffLooks } from '../../db/segments/members.ts'
import type { CommandDeps } from '../deps.ts'
import { recordMoves } from '../events/record.ts'
import { transact } from '../transact.ts'
import { moveMembers } from './move.ts'

export type LookDeps = Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake' | 'addressMac'>

/** Rows that are taken together. */
const ROWS = 100
/** How long they are their worker's: another one looks at what a dead worker has left. */
const LEASE_MS = 15_000
/** When a contact is looked at again whom somebody holds. */
const HELD_MS = 1_000

const later = (now: Date, ms: number) => new Date(now.getTime() + ms)

/**
 * Looks at those who are due, each contact in a commit of its own. Any number of workers may do it.
 * @param onError for one contact who could not be looked at; they are when the lease is over
 * @param after what the call before has returned, so that workspaces take turns while one has very many
 * @returns null: there is no more
 */
export async function lookAtDue(
  deps: LookDeps,
  onError: (err: unknown, due: DueLook) => void,
  { after }: { after: string | null } = { after: null },
): Promise<{ after: string } | null> {
  const now = deps.now()
  const claimed = await transact.one(deps, ({ db }) =>
    claimDueLooks(db, { now, until: later(now, LEASE_MS), limit: ROWS, after }),
  )
  for (const one of claimed.looks) {
    try {
      await lookAt(deps, one)
    } catch (err) {
      onError(err, one)
    }
  }
  return claimed.oldest === ROWS ? { after: claimed.after } : null
}

function lookAt(deps: LookDeps, due: DueLook): Promise<void> {
  const { workspace_id: workspaceId, contact_id, segment_ids } = due
  return transact(deps, async (inTrx) => {
    const { db: trx } = inTrx
    const contact = await lockContactNow(trx, workspaceId, contact_id)
    if (!contact) return
    const now = inTrx.now()
    if (contact === 'held') return putOffLooks(trx, workspaceId, due, later(now, HELD_MS))
    const { id, email, first_seen: firstSeen, properties } = contact
    const keys = await findKeptKeys(trx, workspaceId)
    const moves = await moveMembers(trx, workspaceId, keys, {
      eventName: null,
      email,
      properties: {},
      contact: { id, firstSeen, properties, before: properties, isNew: false },
      now,
      at: null,
      segmentIds: segment_ids,
    })
    await recordMoves({ ...inTrx, now: () => now }, workspaceId, moves, { email })
    // A row of a segment that is kept no more would be due again and again.
    const isKept = (segmentId: string) =>
      keys?.split(',').some((key) => key.startsWith(`${segmentId}/`))
    for (const segmentId of segment_ids.filter((one) => !isKept(one))) {
      await deleteMembers(trx, workspaceId, segmentId, [id])
    }
  })
}
