// Active workflows and events, written directly to the database, for tests without the API.

import { type RecordedEvent, recordAutomationEvent } from '../../commands/events/record.ts'
import { transact } from '../../commands/transact.ts'
import type { Db } from '../../db/connect.ts'
import type { NewAutomationEvent } from '../../db/events/writes.ts'
import { ENGINE } from '../../rules/engine.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { addressMacOf } from './addressMac.ts'
import { newId, now } from './harness.ts'

export interface TestDesign {
  nodes: { id: string; type: string; data: Record<string, unknown> }[]
  edges: { id: string; source: string; target: string; sourceHandle?: string }[]
  settings?: Record<string, unknown>
}

type Arrow = [source: string, target: string, handle?: string]

/** Makes a design from nodes (`id: [type, data]`) and arrows. */
export function design(
  nodes: Record<string, [type: string, data: Record<string, unknown>]>,
  arrows: Arrow[],
): TestDesign {
  return {
    nodes: Object.entries(nodes).map(([id, [type, data]]) => ({ id, type, data })),
    edges: arrows.map(([source, target, sourceHandle], i) => ({
      id: `e${i}`,
      source,
      target,
      ...(sourceHandle === undefined ? {} : { sourceHandle }),
    })),
  }
}

/** A trigger's type and data. */
export const onEvent = (event_name: string): [string, Record<string, unknown>] => [
  'trigger',
  { kind: 'event', event_name },
]

/** A send_email node's type and data. */
export const mail = (
  subject: string,
  more: Record<string, unknown> = {},
): [string, Record<string, unknown>] => [
  'send_email',
  { from: 'Team <hello@sender.test>', subject, html: `<p>${subject}</p>`, ...more },
]

/** Inserts an active workflow of version 1 with its triggers, which runs under those semantics. @returns its id */
export async function insertFlow(
  db: Db,
  { workspaceId, userId }: { workspaceId: WorkspaceId; userId: string },
  given: TestDesign,
  engine: number = ENGINE,
): Promise<string> {
  const id = newId('workflow')
  const at = now()
  await db
    .insertInto('workflows')
    .values({
      id,
      workspace_id: workspaceId,
      name: id,
      status: 'active',
      current_version: 1,
      active_version: 1,
      created_by: userId,
      created_by_type: 'user',
      created_at: at,
      updated_at: at,
      archived_at: null,
    })
    .execute()
  await db
    .insertInto('workflow_versions')
    .values({
      workflow_id: id,
      version: 1,
      workspace_id: workspaceId,
      design: JSON.stringify(given),
      engine,
      created_by: userId,
      created_at: at,
    })
    .execute()
  const triggers = given.nodes.filter((node) => node.type === 'trigger')
  await db
    .insertInto('workflow_triggers')
    .values(
      triggers.map((node, position) => ({
        workflow_id: id,
        node_id: node.id,
        workspace_id: workspaceId,
        event_name: String(node.data['event_name']),
        version: 1,
        position,
        filter: null,
        re_entry: null,
      })),
    )
    .execute()
  return id
}

/** Posts an event in one commit. The caller wakes the starter afterwards. @param clock that of the process that it comes to */
export async function recordEvent(
  db: Db,
  workspaceId: WorkspaceId,
  event: Pick<NewAutomationEvent, 'eventName' | 'email'> & Partial<NewAutomationEvent>,
  clock: () => Date = now,
): Promise<RecordedEvent> {
  const addressMac = await addressMacOf(db)
  const recorded = await transact({ db, newId, now: clock, addressMac, wake: () => {} }, (inTrx) =>
    recordAutomationEvent(inTrx, workspaceId, {
      eventId: null,
      properties: {},
      at: clock(),
      contactProperties: null,
      createContact: true,
      ...event,
    }),
  )
  if (!recorded || isRefusal(recorded)) throw new Error('the event was not recorded')
  return recorded
}
