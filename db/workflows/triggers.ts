// The triggers of active workflows: what an arriving event is matched against.

import type { EventTrigger } from '../../rules/design/triggers.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

export type StoredTrigger = EventTrigger & { re_entry?: ReEntry | null }

/** Puts these triggers in the place of a locked workflow's; none when it stops triggering. */
export async function replaceTriggers(
  trx: Trx,
  workflow: { id: string; workspace_id: WorkspaceId },
  version: number,
  triggers: StoredTrigger[],
): Promise<void> {
  await trx.deleteFrom('workflow_triggers').where('workflow_id', '=', workflow.id).execute()
  if (triggers.length === 0) return
  await trx
    .insertInto('workflow_triggers')
    .values(
      triggers.map(({ node_id, event_name, filter, re_entry }, position) => ({
        workflow_id: workflow.id,
        node_id,
        workspace_id: workflow.workspace_id,
        event_name,
        version,
        position,
        filter: filter && JSON.stringify(filter),
        re_entry: re_entry ? JSON.stringify(re_entry) : null,
      })),
    )
    .execute()
}
