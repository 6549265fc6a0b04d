// Reads domains whose checks Temporal should run, to find those whose checks it has lost.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { isQueued } from '../outbox.ts'

export interface CheckedDomain {
  id: string
  workspace_id: WorkspaceId
  /** Whether a row about it is in the outbox: Temporal is still to be told something. */
  is_queued: boolean
}

/** Domains of all workspaces that are checked until they are deleted or have failed, by id. */
export async function listCheckedDomains(
  db: Db,
  after: string,
  limit: number,
): Promise<CheckedDomain[]> {
  const { rows } = await sql<CheckedDomain>`
    select d.id, d.workspace_id,
      ${isQueued(sql`d.id`)} as is_queued
    from domains d
    where d.id > ${after} and d.deleted_at is null and d.checking_since is not null
      and d.status <> 'FAILED'
    order by d.id limit ${limit}
  `.execute(db)
  return rows
}
