// Writes the triggers of active workflows, which arriving events are matched against.

import { type RawBuilder, sql } from 'kysely'
import type { EventTrigger } from '../../rules/design/triggers.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'

/** Replaces the triggers of a locked workflow; an empty list removes them. */
export async function replaceTriggers(
  trx: Trx,
  workspaceId: WorkspaceId,
  workflowId: string,
  version: number,
  triggers: EventTrigger[],
): Promise<void> {
  await trx
    .deleteFrom('workflow_triggers')
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .execute()
  if (triggers.length === 0) return
  await trx
    .insertInto('workflow_triggers')
    .values(
      triggers.map(({ node_id, event_name, about, filter, re_entry }, position) => ({
        workflow_id: workflowId,
        node_id,
        workspace_id: workspaceId,
        event_name,
        about,
        version,
        position,
        filter: filter && JSON.stringify(filter),
        re_entry: re_entry ? JSON.stringify(re_entry) : null,
      })),
    )
    .execute()
}

/** How many bytes the filters of all triggers of the workspace are, and those of a workflow's own. */
export async function countFilterBytes(
  trx: Trx,
  workspaceId: WorkspaceId,
  workflowId: string,
): Promise<{ all: number; own: number }> {
  const bytesOf = (which: RawBuilder<unknown>) =>
    sql<number>`coalesce(sum(octet_length(filter::text)) filter (where ${which}), 0)::float8`
  const row = await trx
    .selectFrom('workflow_triggers')
    .select([bytesOf(sql`true`).as('all'), bytesOf(sql`workflow_id = ${workflowId}`).as('own')])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row ?? { all: 0, own: 0 }
}

/** What triggers of a workflow of these names are about. */
export async function listTriggersAbout(
  trx: Trx,
  workspaceId: WorkspaceId,
  workflowId: string,
  names: readonly string[],
): Promise<string[]> {
  const rows = await trx
    .selectFrom('workflow_triggers')
    .select('about')
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('event_name', 'in', names)
    .execute()
  return rows.flatMap(({ about }) => about ?? [])
}

/** Whether an active workflow begins at that name about that, such as `audience.joined` and an audience. */
export async function isTriggerAbout(
  db: Db,
  workspaceId: WorkspaceId,
  eventName: string,
  about: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('workflow_triggers')
    .select('node_id')
    .where('workspace_id', '=', workspaceId)
    .where('event_name', '=', eventName)
    .where('about', '=', about)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
