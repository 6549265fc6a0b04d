// Queries over the outbox: what Temporal must still be told.

import { sql } from 'kysely'
import type { WorkspaceId } from '../rules/ids.ts'
import type { Trx } from './connect.ts'
import type { Row } from './schema.ts'

export type OutboxRow = Row<'outbox'>

/**
 * Locks due rows for the length of the transaction, the oldest of each execution alone, so that a start always
 * comes before its signals and its cancellation. Rows that another worker holds are passed over.
 */
export async function lockOutbox(trx: Trx, now: Date, limit: number): Promise<OutboxRow[]> {
  return trx
    .selectFrom('outbox as o')
    .selectAll()
    .where('next_at', '<=', now)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('outbox as earlier')
            .select('earlier.id')
            .whereRef('earlier.execution_id', '=', 'o.execution_id')
            .whereRef('earlier.id', '<', 'o.id'),
        ),
      ),
    )
    .orderBy('next_at')
    .orderBy('id')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute()
}

/** Removes what Temporal has taken and puts off what it refused, in one statement. */
export async function settleOutbox(
  trx: Trx,
  done: number[],
  putOff: { ids: number[]; until: Date },
): Promise<void> {
  await sql`
    with gone as (delete from outbox where id = any(${done}::bigint[]))
    update outbox set attempts = attempts + 1, next_at = ${putOff.until}
    where id = any(${putOff.ids}::bigint[])
  `.execute(trx)
}

/**
 * Has the checks of a domain started (`domain_start`), or one made now (`domain_check`): carried to Temporal after
 * the commit, however this process ends. An execution's columns hold the domain's id, and nothing.
 */
export async function insertDomainTask(
  trx: Trx,
  task: {
    kind: 'domain_start' | 'domain_check'
    domainId: string
    workspaceId: WorkspaceId
    at: Date
  },
): Promise<void> {
  await trx
    .insertInto('outbox')
    .values({
      kind: task.kind,
      execution_id: task.domainId,
      workspace_id: task.workspaceId,
      workflow_id: '',
      contact_id: '',
      payload: '{}',
      next_at: task.at,
      created_at: task.at,
    })
    .execute()
}
