// An erasure that waits for long says for whom: nothing else ends a transaction that somebody has forgotten.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { ActivityDeps } from '../../activities/deps.ts'
import { createPagePlaces } from '../../activities/pagePlaces.ts'
import { jobActivities } from '../../activities/runJob.ts'
import { createTestApi } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'

const clock = { ahead_ms: 0 }
const api = await createTestApi({ now: () => new Date(Date.now() + clock.ahead_ms) })
const { db, deps, workspaceId } = api
const { contact, beginErasing, newestJob } = erasing(api)

test('a transaction that only reads is named in the log after five minutes', async () => {
  const email = await contact()
  const open = await db.startTransaction().execute()
  const { rows } = await sql<{ pid: number; id: string }>`
    select pg_backend_pid() as pid, set_config('application_name', 'report of may', true) as id`.execute(
    open,
  )
  expect(await beginErasing(email)).toBe(204)
  const { id: jobId } = await newestJob()

  const warned: [object, string][] = []
  const log = {
    warn: (about: object, text: string) => void warned.push([about, text]),
  } as unknown as ActivityDeps['log']
  const { runJobPage } = jobActivities({ ...deps, log }, createPagePlaces())
  const page = () => runJobPage({ jobId, workspaceId })
  expect(await page()).toEqual({ more: true, wait_ms: expect.any(Number) })
  expect(warned).toEqual([])
  clock.ahead_ms = 5 * 60_000
  expect(await page()).toEqual({ more: true, wait_ms: 60_000 })
  const transaction = { pid: rows[0]?.pid, application_name: 'report of may' }
  expect(warned).toMatchObject([
    [
      { job_id: jobId, workspace_id: workspaceId, transactions: [transaction] },
      expect.stringContaining('waits for'),
    ],
  ])
  expect(JSON.stringify(warned)).not.toContain(email)
  // As docs/troubleshooting.md has it.
  const { rows: shown } =
    await sql`select a.pid, a.state from jobs j, pg_locks l join pg_stat_activity a on a.pid = l.pid
    where j.id = ${jobId} and l.mode = 'ExclusiveLock' and j.input->'waits_for' ? l.virtualxid`.execute(
      db,
    )
  expect(shown).toEqual([{ pid: rows[0]?.pid, state: 'idle in transaction' }])
  await open.rollback().execute()
  while ((await page()).more) {}
  expect(warned).toHaveLength(1)
})
