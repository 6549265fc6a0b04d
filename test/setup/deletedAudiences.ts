// Audiences of many contacts, and what workers do once one is deleted.
import { sql } from 'kysely'
import { forgetDeleted } from '../../commands/audiences/forgetDeleted.ts'
import type { CommandDeps } from '../../commands/deps.ts'
import type { Db } from '../../db/connect.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

type Deps = Pick<CommandDeps, 'db' | 'wake' | 'now'>

/** Adds so many contacts to an audience in one statement. Their addresses are `c000001@example.test` and so on. */
export async function insertContacts(
  db: Db,
  workspaceId: WorkspaceId,
  audienceId: string,
  count: number,
): Promise<void> {
  await sql`
    insert into audience_contacts (id, audience_id, workspace_id, email, created_at, updated_at)
    select left(${audienceId}, 22) || '_' || right(${audienceId}, 8) || lpad(n::text, 8, '0'), ${audienceId},
      ${workspaceId}, 'c' || lpad(n::text, 6, '0') || '@example.test', now(), now()
    from generate_series(1, ${count}::int) n`.execute(db)
}

/** How many rows are left of an audience: its contacts, and its own. */
export async function rowsOf(db: Db, audienceId: string): Promise<[contacts: number, own: number]> {
  const { rows } = await sql<{ contacts: number; own: number }>`
    select (select count(*)::int from audience_contacts where audience_id = ${audienceId}) as contacts,
      (select count(*)::int from audiences where id = ${audienceId}) as own`.execute(db)
  const [{ contacts, own } = { contacts: -1, own: -1 }] = rows
  return [contacts, own]
}

/** Does what a worker does until nothing is left that it could delete, or so many pages. @throws what a page has failed for */
export async function forgetAll(
  { db, wake, now }: Deps,
  {
    pages = Number.POSITIVE_INFINITY,
    page = 1_000,
    places = new Map<string, string>(),
  }: { pages?: number; page?: number; places?: Map<string, string> } = {},
): Promise<void> {
  let done = 0
  await forgetDeleted(
    { db, wake, now },
    {
      ...{ page, places, isStopping: () => done >= pages },
      pause: async () => void done++,
      onFailure(err) {
        throw err
      },
    },
  )
}
