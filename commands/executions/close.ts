// Closes the row of an execution that ended in Temporal. No workspace is needed: the row of the id has it.

import { closeExecution as close } from '../../db/executions/writes.ts'
import type { CancelCode } from '../../rules/wire.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export type ClosedAs =
  | { status: 'COMPLETED' }
  | { status: 'CANCELLED'; code: CancelCode }
  | { status: 'FAILED'; error: string }

/** May be repeated: a row that has ended stays as it is. */
export function closeExecution(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  executionId: string,
  as: ClosedAs,
): Promise<void> {
  const end = {
    status: as.status,
    reason: as.status === 'CANCELLED' ? as.code : null,
    error: as.status === 'FAILED' ? as.error : null,
    outcome: null,
  }
  return transact(deps, ({ db: trx, now }) => close(trx, executionId, end, now()))
}
