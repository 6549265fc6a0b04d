// What the starter does with rows that Temporal does not answer, or answers with what is no fault of the row.
import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createLog } from '../../runtime/log.ts'
import { startStarter } from '../../worker/starter.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { newId } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'

const { db } = await createTestDatabase()
const SOON = { deadline_ms: 60_000 }
const DEADLINE_EXCEEDED = 4
let connection: NativeConnection
let namespace: string
/** The clock of starters. */
let time = Date.now()
/** Ends the starts that are held, by their execution, with an answer of this code. */
const held = new Map<string, (code: number) => void>()
/** Starts that are held, and those that are answered by a code. */
const silent = new Set<string>()
const answers = new Map<string, number>()

beforeAll(async () => {
  const temporal = await createTestNamespace()
  namespace = temporal.namespace
  connection = await NativeConnection.connect({ address: temporal.address })
}, 60_000)
afterAll(() => connection?.close())
beforeEach(() => sql`truncate outbox`.execute(db))

const answer = (code: number) =>
  Object.assign(new Error(`answer ${code}`), { code, details: '', metadata: { get: () => [] } })

function start(inNamespace = namespace, lines: string[] = []) {
  const client = new Client({
    connection,
    namespace: inNamespace,
    interceptors: {
      workflow: [
        {
          async start(input, next) {
            const id = input.options.workflowId
            const code = answers.get(id)
            if (code !== undefined) throw answer(code)
            if (!silent.has(id)) return next(input)
            return new Promise((_, reject) => {
              held.set(id, (with_) => reject(answer(with_)))
            })
          },
        },
      ],
    },
  })
  const starter = startStarter({
    db,
    client,
    namespace: inNamespace,
    log: createLog('starter', 'info', { write: (line) => void lines.push(line) }),
    now: () => new Date(time),
    onOutbox: () => async () => undefined,
  })
  onTestFinished(async () => {
    silent.clear()
    for (const end of held.values()) end(DEADLINE_EXCEEDED)
    await starter.stop()
  })
  return starter
}

/** Writes a start of an execution, in a workspace of its own. @returns the execution's id */
async function put(): Promise<string> {
  const id = newId('execution')
  const at = new Date(time)
  const about = { execution_id: id, workspace_id: `ws_${id}` as WorkspaceId, workflow_id: 'wf_1' }
  await db
    .insertInto('outbox')
    .values({ kind: 'start', ...about, contact_id: '', payload: '{}', next_at: at, created_at: at })
    .execute()
  return id
}

const rows = () => db.selectFrom('outbox').selectAll().orderBy('id').execute()
const waiting = async () => (await rows()).map((row) => row.execution_id)

test('a row that is not answered stops no other one, and is tried less and less often while others are answered', async () => {
  const busy = await put()
  silent.add(busy)
  await put()
  start()
  for (const [attempts, pause_s] of [
    [1, 2],
    [2, 4],
  ] as const) {
    await eventually(() => expect(held.has(busy)).toBe(true), SOON)
    await put()
    await eventually(async () => expect(await waiting()).toEqual([busy]), SOON)
    held.get(busy)?.(DEADLINE_EXCEEDED)
    held.delete(busy)
    const next_at = new Date(time + pause_s * 1_000)
    await eventually(async () => {
      expect(await rows()).toMatchObject([{ attempts, refusal: 'DEADLINE_EXCEEDED', next_at }])
    }, SOON)
    time = next_at.getTime()
  }
}, 180_000)

test('a call that does not end is given up before its lease ends', async () => {
  const row = await put()
  silent.add(row)
  start()
  const [putOff, lease] = [time + 2_000, time + 15_000]
  await eventually(async () => {
    const [found] = await rows()
    expect(found?.next_at.getTime()).toBe(lease)
  }, SOON)
  await eventually(async () => {
    const [found] = await rows()
    expect(found).toMatchObject({ attempts: 0, next_at: new Date(putOff) })
  }, SOON)
}, 180_000)

test('an answer that says nothing of the row refuses nothing', async () => {
  const codes = [2, 11, 12, 13, 15]
  for (const code of codes) answers.set(await put(), code)
  start()
  const next_at = new Date(time + 2_000)
  await eventually(async () => {
    const attempts = { attempts: 0, refusal: null, next_at }
    expect(await rows()).toMatchObject(codes.map(() => attempts))
  }, SOON)
}, 120_000)

test('of one batch each refusal is logged once', async () => {
  for (let n = 0; n < 9; n++) answers.set(await put(), n < 5 ? 3 : 9)
  const lines: string[] = []
  start(namespace, lines)
  await eventually(async () => {
    expect((await rows()).map((row) => row.attempts)).toEqual(Array(9).fill(1))
  }, SOON)
  const logged = lines.map((line) => JSON.parse(line))
  expect(logged).toMatchObject([
    { refusal: 'INVALID_ARGUMENT', count: 5 },
    { refusal: 'FAILED_PRECONDITION', count: 4 },
  ])
}, 120_000)

test('refused rows that Temporal takes at last go without a pause between their batches', async () => {
  // With two seconds after each batch they would take longer than the test may.
  await sql`insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, next_at, attempts, created_at)
    select 'signal', 'exe_' || n, 'ws_1', '', '', '{"segment": 0}', ${new Date(time)}, 1, ${new Date(time)}
    from generate_series(1, 3000) n`.execute(db)
  start()
  await eventually(async () => expect(await rows()).toHaveLength(0), { deadline_ms: 90_000 })
}, 180_000)

test('while Temporal answers nothing it is logged once', async () => {
  for (let n = 0; n < 140; n++) await put()
  const lines: string[] = []
  start('no-such-namespace', lines)
  await eventually(async () => {
    const later = (await rows()).filter((row) => row.next_at.getTime() === time + 2_000)
    expect(later.length).toBeGreaterThanOrEqual(128)
  }, SOON)
  expect(lines).toHaveLength(1)
}, 120_000)
