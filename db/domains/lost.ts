// Reads domains whose checks Temporal should run, to find those whose checks it has lost.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'

export interface CheckedDomain {
  id: string
  workspace_id: WorkspaceId
  /** Whether Temporal is still to be told something about it. */
  is_told: boolean
}

/** Domains of all workspaces that are checked until they are deleted or have failed, by id. */
export async function listCheckedDomains(
  db: Db,
  after: string,
  limit: number,
): Promise<CheckedDomain[]> {
  const { rows } = await sql<CheckedDomain>`
    select d.id, d.workspace_id,
      coalesce((select true from outbox o where o.execution_id = d.id
        and o.kind <> 'mail_event' limit 1), false) as is_told
    from domains d
    where d.id > ${after} and d.deleted_at is null and d.checking_since is not null
      and d.status <> 'FAILED'
    order by d.id limit ${limit}
  `.execute(db)
  return rows
}
