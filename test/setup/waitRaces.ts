// An event and the timeout of the wait for it, at the same instant: as two transactions, and through Temporal.
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import type { Engine } from './engine.ts'
import { eventually } from './eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from './flows.ts'
import { createRandom } from './random.ts'
import { uniqueName } from './unique.ts'

/** Executions whose race is run at the same time. */
const AT_ONCE = 4
const TURNS_MAX = 12
/** How long before and after the deadline an event is posted, ms. */
const NEAR_MS = 25
const DRAIN_MS = 120_000

export interface Races {
  rounds: number
  seed: number
}

/** Counts in the contact by which handle the execution left its wait. */
function racing(names: { starts: string; comes: string }, timeout: string) {
  const count = (name: string): [string, Record<string, unknown>] => [
    'update_contact',
    { increment: { [name]: 1 } },
  ]
  return design(
    {
      start: onEvent(names.starts),
      wait: ['wait_for_event', { event_name: names.comes, timeout }],
      received: count('received'),
      timeout: count('timeout'),
    },
    [
      ['start', 'wait'],
      ['wait', 'received', 'received'],
      ['wait', 'timeout', 'timeout'],
    ],
  )
}

async function begin(engine: Engine, timeout: string) {
  const names = { starts: uniqueName('starts'), comes: uniqueName('comes') }
  await insertFlow(engine.db, engine, racing(names, timeout))
  return names
}

/**
 * The commit of the event against that of the segment after the timeout, on two connections. The starter must be stopped.
 * @returns faults (empty if all is well), and how often each of the two won
 */
export async function raceCommits(engine: Engine, { rounds, seed }: Races) {
  const { db, workspaceId } = engine
  const random = createRandom(seed)
  const names = await begin(engine, 'PT1H')
  const faults: string[] = []
  const ids: string[] = []
  let left = rounds

  async function race(): Promise<void> {
    const email = `${uniqueName('r')}@example.test`
    const started = await recordEvent(db, workspaceId, { eventName: names.starts, email })
    const [executionId = ''] = started.executionIds
    ids.push(executionId)
    await engine.runSegment({ executionId, segment: 0 })
    const late = random.between(-TURNS_MAX, TURNS_MAX)
    const after = async <T>(turns: number, work: () => Promise<T>) => {
      for (let i = 0; i < turns; i++) await turn()
      return work()
    }
    const [, result] = await Promise.all([
      after(late, () => recordEvent(db, workspaceId, { eventName: names.comes, email })),
      after(-late, () => engine.runSegment({ executionId, segment: 1 })),
    ])
    // Temporal may ask once more, for the timer and for the signal.
    const again = await engine.runSegment({ executionId, segment: 1 })
    if (!isDeepStrictEqual(again, result)) {
      faults.push(`${executionId}: ${JSON.stringify(result)}, then ${JSON.stringify(again)}`)
    }
  }
  const line = async () => {
    while (left > 0) {
      left -= 1
      await race()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, line))
  const counts = await auditRaces(db, ids, faults)
  return { faults, counts }
}

/** Through Temporal: events that come within some ms of the deadline. @returns as `raceCommits` */
export async function raceTimers(engine: Engine, { rounds, seed }: Races) {
  const { db } = engine
  const random = createRandom(seed)
  const names = await begin(engine, 'PT2S')
  const faults: string[] = []

  const ids = await Promise.all(
    Array.from({ length: rounds }, async (_, n) => {
      const email = `${uniqueName('r')}@example.test`
      await pause(n * 20)
      const [executionId = ''] = await engine.post(names.starts, email)
      const deadline = await eventually(() => deadlineOf(db, executionId))
      if (deadline !== null) {
        const near = random.between(-NEAR_MS, NEAR_MS)
        await pause(Math.max(0, deadline.getTime() + near - Date.now()))
        await engine.post(names.comes, email)
      }
      return executionId
    }),
  )
  await eventually(() => expectAllEnded(db, ids), { deadline_ms: DRAIN_MS })
  for (const id of ids) await engine.ended(id, 'COMPLETED')
  return { faults, counts: await auditRaces(db, ids, faults, { signalsLeft: false }) }
}

/** null: the timer was there first. @throws Error while the execution has not come to its wait */
async function deadlineOf(db: Db, id: string): Promise<Date | null> {
  const waits = db.selectFrom('event_waits').select('deadline').where('execution_id', '=', id)
  const wait = await waits.executeTakeFirst()
  if (wait) return wait.deadline
  const row = db.selectFrom('executions').select('ended_status').where('id', '=', id)
  if ((await row.executeTakeFirstOrThrow()).ended_status === null) throw new Error('not there yet')
  return null
}

async function expectAllEnded(db: Db, ids: string[]): Promise<void> {
  const open = db.selectFrom('executions').select('id').where('ended_status', 'is', null)
  const found = await open.where('id', 'in', ids).execute()
  if (found.length > 0) throw new Error(`${found.length} executions have not ended`)
}

interface RaceRow {
  id: string
  handle: string | null
  /** Segments, steps, waits that stand, and signals that are still to be sent. */
  segments: number
  steps: number
  waits: number
  consumed: number
  signals: number
  properties: Record<string, number>
}

/** Adds what is wrong to `faults`: each wait has ended once, by one of the two, and all that follows is of that one. */
async function auditRaces(
  db: Db,
  ids: readonly string[],
  faults: string[],
  { signalsLeft = true } = {},
): Promise<{ received: number; timeout: number }> {
  const { rows } = await sql<RaceRow>`
    select x.id, s.handle, c.properties,
      (select count(*)::int from execution_segments g where g.execution_id = x.id) as segments,
      (select count(*)::int from execution_steps t where t.execution_id = x.id) as steps,
      (select count(*)::int from event_waits w where w.execution_id = x.id) as waits,
      (select count(*)::int from event_waits w where w.execution_id = x.id
        and w.consumed_by is not null and w.ended_by is null) as consumed,
      (select count(*)::int from outbox o where o.execution_id = x.id and o.kind = 'signal') as signals
    from executions x
    join contacts c on c.id = x.contact_id
    left join execution_steps s on s.execution_id = x.id and s.node_id = 'wait'
    where x.id = any(${ids}::text[]) and x.ended_status = 'COMPLETED'
  `.execute(db)
  if (rows.length !== ids.length) faults.push(`${rows.length} of ${ids.length} are COMPLETED`)
  const counts = { received: 0, timeout: 0 }
  for (const { id, ...row } of rows) {
    const handle = row.handle === 'received' ? 'received' : 'timeout'
    counts[handle] += 1
    const by = handle === 'received' ? 1 : 0
    const expected = {
      handle,
      segments: 2,
      steps: 3,
      waits: by,
      consumed: by,
      signals: signalsLeft ? by : 0,
      properties: { [handle]: 1 },
    }
    const found = JSON.stringify({ ...expected, ...row })
    if (found !== JSON.stringify(expected)) faults.push(`${id}: ${found}`)
  }
  return counts
}
