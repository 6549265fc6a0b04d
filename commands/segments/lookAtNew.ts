// Looks at contacts who were made without an event, for the kept segments.
import { findKeptKeys } from '../../db/segments/kept.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type RecordDeps, recordMoves } from '../events/record.ts'
import { moveMembers } from './move.ts'

/** Like anybody who is new, they enter the segments whose conditions hold for them. They were made at `now`, in this transaction. */
export async function lookAtNew(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  contacts: readonly { id: string; email: string }[],
  now: Date,
): Promise<void> {
  if (contacts.length === 0) return
  const keys = await findKeptKeys(deps.db, workspaceId)
  if (keys === null) return
  for (const { id, email } of contacts) {
    const moves = await moveMembers(deps.db, workspaceId, keys, {
      eventName: null,
      email,
      properties: {},
      contact: { id, firstSeen: now, properties: {}, before: {}, isNew: true },
      now,
      at: null,
    })
    await recordMoves(deps, workspaceId, moves, { email })
  }
}
