// Has an execution started again that Temporal has lost, where Postgres has it: at its last segment, with what is left of its wait.
import { lockContact } from '../../db/contacts/writes.ts'
import { findRestart, type LiveRow, type Restart } from '../../db/executions/lost.ts'
import { closeExecution, lockExecution } from '../../db/executions/writes.ts'
import { insertRestart } from '../../db/outbox.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** `ended`: Temporal has dropped a run that was ended from outside, and its row is closed. */
export type StartedAgain = 'started' | 'ended'

/** What becomes of it. @param unseenUntil a run that ended from outside until then may have been dropped; null: none */
export const fateOf = ({ sign_at }: Restart, unseenUntil: Date | null): StartedAgain =>
  unseenUntil !== null && sign_at <= unseenUntil ? 'ended' : 'started'

/**
 * Call it for one that Temporal does not know. The contact is locked first, as by events and segments: what they tell Temporal
 * comes before the lock, and then nothing is done, or after the new start.
 * @returns null if nothing is to be done: it has ended, or something is on its way to Temporal
 */
export function startAgain(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  {
    id,
    workspace_id: workspaceId,
    contact_id,
  }: Pick<LiveRow, 'id' | 'workspace_id' | 'contact_id'>,
  unseenUntil: Date | null,
): Promise<StartedAgain | null> {
  return transact(deps, async ({ db: trx, now, wake }) => {
    await lockContact(trx, workspaceId, contact_id)
    await lockExecution(trx, workspaceId, id)
    const found = await findRestart(trx, workspaceId, id)
    if (!found) return null
    const fate = fateOf(found, unseenUntil)
    if (fate === 'ended') {
      const reason = 'terminated'
      const end = { status: 'CANCELLED', reason, outcome: null, error: null } as const
      await closeExecution(trx, id, end, now())
      return fate
    }
    const { workspace_id, workflow_id } = found
    const about = { execution_id: id, workspace_id, workflow_id, contact_id }
    await insertRestart(trx, { ...about, payload: payloadOf(found) }, now())
    wake('dripline_outbox')
    return fate
  })
}

/** What the starter needs (`worker/starts.ts`): nothing for an execution that has run no segment. */
function payloadOf({ segment, result, written_at, is_over }: Restart) {
  if (segment === null || result === null) return {}
  const updated_at = written_at?.getTime() ?? 0
  return { after: { segment, result, updated_at, is_over } }
}
