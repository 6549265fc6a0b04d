// Active workflows with a schedule and audiences of many members, written directly to the database.

import { transact } from '../../commands/transact.ts'
import { setTriggers } from '../../commands/workflows/triggers.ts'
import type { Db } from '../../db/connect.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { design, insertFlow } from './flows.ts'
import { newId } from './harness.ts'

interface Workspace {
  workspaceId: WorkspaceId
  userId: string
}

/** The address of a member; those of an audience are in the order of their numbers. */
export const memberEmail = (n: number) => `m${String(n).padStart(5, '0')}@example.test`

/** An audience of so many members. @returns its id */
export async function insertAudience(
  db: Db,
  { workspaceId, userId }: Workspace,
  members: number,
): Promise<string> {
  const id = newId('audience')
  const at = new Date()
  const times = { created_at: at, updated_at: at }
  await db
    .insertInto('audiences')
    .values({ id, workspace_id: workspaceId, name: id, created_by: userId, ...times })
    .execute()
  const rows = Array.from({ length: members }, (_, n) => ({
    id: newId('audienceContact'),
    audience_id: id,
    workspace_id: workspaceId,
    email: memberEmail(n),
    properties: '{}',
    ...times,
  }))
  if (rows.length > 0) await db.insertInto('audience_contacts').values(rows).execute()
  return id
}

/** Makes the schedule of a workflow that of this data, as its activation does; null: as a pause does. */
export async function setSchedule(
  db: Db,
  { workspaceId }: Pick<Workspace, 'workspaceId'>,
  workflowId: string,
  { data, now, version = 1 }: { data: object | null; now: () => Date; version?: number },
): Promise<void> {
  await transact({ db, now, wake: () => undefined }, (inTrx) =>
    setTriggers(
      inTrx,
      { id: workflowId, workspace_id: workspaceId },
      version,
      data === null ? null : (scheduled(data) as unknown as Design),
    ),
  )
}

/** A design that begins by a schedule and ends at once. */
export const scheduled = (data: object) =>
  design({ start: ['trigger', { kind: 'schedule', ...data }], end: ['exit', {}] }, [
    ['start', 'end'],
  ])

/** An active workflow with a schedule. @returns its id */
export async function insertScheduled(
  db: Db,
  workspace: Workspace,
  data: object,
  now: () => Date,
): Promise<string> {
  const id = await insertFlow(db, workspace, scheduled(data))
  await setSchedule(db, workspace, id, { data, now })
  return id
}
