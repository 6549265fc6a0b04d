// A workspace whose segments of contacts are kept by hand, on a clock that the test sets.
import { expect } from 'vitest'
import { updateContactProperties } from '../../commands/contacts/updateProperties.ts'
import { createEventGroups } from '../../commands/events/groups.ts'
import { type PostedEvent, postAutomationEvent } from '../../commands/events/post.ts'
import { createSegment } from '../../commands/segments/create.ts'
import { fillNext } from '../../commands/segments/fill.ts'
import { lookAtDue } from '../../commands/segments/lookDue.ts'
import { updateSegment } from '../../commands/segments/update.ts'
import { transact } from '../../commands/transact.ts'
import { setTriggers } from '../../commands/workflows/triggers.ts'
import type { Db } from '../../db/connect.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { addressMacOf } from './addressMac.ts'
import { eventually } from './eventually.ts'
import { design, insertFlow } from './flows.ts'
import { newId, seedWorkspace } from './harness.ts'

/** A design that begins at a segment and ends at once. */
export const startsAt = (kind: 'segment_entered' | 'segment_left', segment_id: string, more = {}) =>
  design({ start: ['trigger', { kind, segment_id, ...more }], end: ['exit', {}] }, [
    ['start', 'end'],
  ])

/** A condition of some hundreds of KiB. */
export const large = (kib: number) => ({
  type: 'rule',
  field: 'properties.plan',
  operator: 'in',
  value: Array.from({ length: kib }, (_, n) => String(n).padStart(1_020, 'x')),
})

/** The value of a command. */
function done<T>(answer: T) {
  if (isRefusal(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`)
  return answer as Exclude<T, { code: string }>
}

export async function createSegmentWorld(db: Db, startMs = Date.UTC(2026, 0, 1)) {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const clock = { ms: startMs }
  const now = () => new Date(clock.ms)
  const addressMac = await addressMacOf(db)
  const deps = { db, newId, now, addressMac, wake: () => undefined }
  const posting = { ...deps, eventGroups: createEventGroups(deps) }

  const set = (workflowId: string, given: object | null) =>
    transact(deps, (inTrx) =>
      setTriggers(inTrx, { id: workflowId, workspace_id: workspaceId }, 1, given as Design | null),
    )

  return {
    workspace,
    workspaceId,
    deps,
    clock,
    set,
    async segment(condition: object, name = 'S'): Promise<string> {
      return done(await createSegment(deps, workspaceId, { name, condition }))
    },
    async change(id: string, condition: object): Promise<void> {
      done(await updateSegment(deps, workspaceId, { id, condition }))
    },
    /** Makes a workflow active that begins at a segment. @returns its id */
    async begin(kind: 'segment_entered' | 'segment_left', segmentId: string, more = {}) {
      const given = startsAt(kind, segmentId, more)
      const id = await insertFlow(db, workspace, given)
      await set(id, given)
      return id
    },
    /** Does all fills, though their time has not come. */
    async fill(): Promise<void> {
      await eventually(async () => {
        await db.updateTable('segment_fills').set({ next_at: now() }).execute()
        await fillNext(deps, () => false)
        expect(await db.selectFrom('segment_fills').selectAll().execute()).toEqual([])
      })
    },
    /** Looks at all who are due by the clock. */
    async look(): Promise<void> {
      const onError = (err: unknown) => {
        throw err
      }
      while (await lookAtDue(deps, onError));
    },
    async post(email: string, event_name: string, more: Partial<PostedEvent> = {}) {
      return done(await postAutomationEvent(posting, workspaceId, { email, event_name, ...more }))
    },
    async patch(email: string, properties: PostedEvent['properties']): Promise<void> {
      done(
        await updateContactProperties(deps, workspaceId, { email, properties: properties ?? {} }),
      )
    },
    /** What was recorded of a contact, in order: `entered seg_…` and `left seg_…`. */
    async moves(email: string): Promise<string[]> {
      const rows = await db
        .selectFrom('automation_events')
        .select(['event_name', 'properties'])
        .where('workspace_id', '=', workspaceId)
        .where('email', '=', email)
        .where('event_name', 'like', 'contact.segment_%')
        .orderBy('id')
        .execute()
      return rows.map(
        ({ event_name, properties }) =>
          `${event_name.replace('contact.segment_', '')} ${properties['segment_id']}`,
      )
    },
    /** Addresses of kept members, in order. */
    async members(segmentId: string): Promise<string[]> {
      const rows = await db
        .selectFrom('segment_members as m')
        .innerJoin('contacts as c', 'c.id', 'm.contact_id')
        .innerJoin('segments as s', 's.id', 'm.segment_id')
        .select('c.email')
        .where('m.segment_id', '=', segmentId)
        .where('m.is_member', '=', true)
        .whereRef('m.generation', '=', 's.generation')
        .orderBy('c.email')
        .execute()
      return rows.map(({ email }) => email)
    },
    /** How many executions of a workflow a contact has. */
    async starts(workflowId: string, email: string): Promise<number> {
      const rows = await db
        .selectFrom('executions')
        .select('id')
        .where('workflow_id', '=', workflowId)
        .where('email', '=', email)
        .execute()
      return rows.length
    },
  }
}

/** Ids of all segments of a workspace. */
export async function listKnownOf(db: Db, workspaceId: WorkspaceId): Promise<string[]> {
  const rows = await db
    .selectFrom('segments')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .execute()
  return rows.map(({ id }) => id)
}
