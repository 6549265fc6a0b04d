// What is put back with the time that it had waits for a look at all that is due, which comes soon whatever the look before had to do.
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { takeLane } from '../../db/lanes/writes.ts'
import { createReady } from '../../delivery/lane/ready.ts'
import { createTestDatabase } from '../setup/database.ts'
import { rights } from '../setup/queue.ts'

const { db } = await createTestDatabase()
const NOW = new Date('2026-03-02T09:00:00Z')
const ago = (ms: number) => new Date(NOW.getTime() - ms)
const wake = () => undefined
const STATEMENT_MS = 50

beforeEach(() => sql`truncate deliveries`.execute(db))

/** Puts mail back that was due half a minute ago. */
const putBack = (workspace: string, count: number) =>
  sql`
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at, destination, ready)
  select gen_random_uuid(), ${workspace}, 'dom_1', 'u@d.test', 7, 'queued', ${ago(30_000)}, ${ago(-1e9)}, ${ago(90_000)}, 'd.test', false
  from generate_series(1, ${count}::int)`.execute(db)

/** A lane that makes mail ready, by a clock that a statement moves by 50 ms, and `stalls` besides. */
async function createLane() {
  const clock = { ms: 1_000_000, stall_ms: 0 }
  vi.spyOn(performance, 'now').mockImplementation(() => clock.ms)
  onTestFinished(() => void vi.restoreAllMocks())
  const shards = { from: 0, to: 64 }
  const lane = { lane: 0, lanes: 1, ...shards, owner: 'x', until: ago(-1e9) }
  const owner = await transact({ db, wake }, (inTrx) => takeLane(inTrx.db, lane))
  const seen: string[] = []
  const now = () => {
    clock.ms += STATEMENT_MS + clock.stall_ms
    return NOW
  }
  const makeReady = createReady(
    { db, claiming: db, now, wake, config: rights } as never,
    { shards, owner },
    (rows) => seen.push(...rows.map(({ workspace_id }) => workspace_id)),
    () => undefined,
  )
  return { clock, seen, makeReady }
}

test('two seconds after a backlog that took many statements', async () => {
  const { clock, seen, makeReady } = await createLane()
  await putBack('ws_1', 2_000)
  const began_ms = clock.ms
  await makeReady()
  expect(seen).toHaveLength(2_000)
  expect(clock.ms - began_ms).toBeGreaterThan(20 * STATEMENT_MS)
  await putBack('ws_2', 1)
  clock.ms += 2_000
  await makeReady()
  expect(seen).toContain('ws_2')
})

test('half a minute after a look during which the process stood still for ten minutes', async () => {
  const { clock, seen, makeReady } = await createLane()
  clock.stall_ms = 600_000
  await makeReady()
  clock.stall_ms = 0
  await putBack('ws_2', 1)
  await makeReady()
  expect(seen, 'a look at what became due since').toEqual([])
  clock.ms += 30_000
  await makeReady()
  expect(seen).toEqual(['ws_2'])
})
