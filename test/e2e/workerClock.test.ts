// The clock of a worker's machine jumps: its executions wait as long as they should, by the clock of Postgres.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { startWorker } from '../setup/processes.ts'

const PRELOADED = new URL('../setup/jumpingClock.mjs', import.meta.url)
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const database = await createTestDatabase()

const waits = design(
  {
    start: onEvent('began'),
    hello: mail('Hello'),
    wait: ['wait_for_event', { event_name: 'went.on', timeout: 'PT30M' }],
    thanks: mail('Thanks'),
  },
  [
    ['start', 'hello'],
    ['hello', 'wait'],
    ['wait', 'thanks', 'received'],
  ],
)

test.each([
  ['ahead', HOUR_MS],
  ['back', -HOUR_MS],
])('an hour %s', { timeout: 300_000 }, async (name, by_ms) => {
  const h = await createHarness(database, { workers: 0 })
  await insertFlow(h.db, h, waits)
  const worker = await startWorker({
    ...h.service,
    env: {
      ...h.service.env,
      NODE_OPTIONS: `--import ${PRELOADED.href}`,
      CLOCK_JUMP_MS: String(by_ms),
    },
  })
  process.kill(worker.pid, 'SIGUSR2')

  const email = `${name}@example.test`
  const post = async (event_name: string) => {
    const answer = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', {
      event_name,
      email,
    })
    return answer.body.executions
  }
  const [id = ''] = await post('began')
  const read = async () =>
    (await h.request<{ status: string; wait_until: number | null }>('GET', `/v1/executions/${id}`))
      .body
  const waiting = await eventually(async () => {
    const shown = await read()
    expect(shown.status).toBe('WAITING')
    return shown
  })
  const left = Number(waiting.wait_until) - Date.now()
  expect(Math.abs(left - 30 * MINUTE_MS)).toBeLessThan(3 * MINUTE_MS)
  await post('went.on')
  await eventually(async () => expect((await read()).status).toBe('COMPLETED'))
  const steps = await h.db
    .selectFrom('execution_steps')
    .select(['node_id', 'handle', 'at'])
    .where('execution_id', '=', id)
    .orderBy('seq')
    .execute()
  expect(steps.map((step) => `${step.node_id}=${step.handle}`)).toEqual([
    'start=default',
    'hello=default',
    'wait=received',
    'thanks=default',
  ])
  await eventually(() => expect(worker.log(1_000)).toContain('the clock of this machine is off'))
  for (const { at } of steps) {
    expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(5 * MINUTE_MS)
  }
  expect(
    await h.db.selectFrom('emails').select('id').where('execution_id', '=', id).execute(),
  ).toHaveLength(2)
})
