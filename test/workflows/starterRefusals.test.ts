// What the starter does with rows that Temporal refuses, and with rows about which it cannot ask.
import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { sql } from 'kysely'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listOutboxLines } from '../../db/outbox.ts'
import { claimOutbox } from '../../db/outboxClaims.ts'
import { listRefused, listWaitingKinds } from '../../db/outboxReads.ts'
import { outboxLines } from '../../operate/outboxTable.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { OutboxKind } from '../../rules/wire.ts'
import { createLog } from '../../runtime/log.ts'
import { watchOutbox } from '../../worker/outboxMetrics.ts'
import { startStarter } from '../../worker/starter.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { newId } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'

const { db } = await createTestDatabase()
const log = createLog('starter', 'silent')
const SOON = { deadline_ms: 60_000 }
/** Longer than an id of a workflow may be in Temporal. */
const UNACCEPTABLE = 'x'.repeat(1_500)
let connection: NativeConnection
let namespace: string
/** The clock of starters. */
let time = Date.now()

beforeAll(async () => {
  const temporal = await createTestNamespace()
  namespace = temporal.namespace
  connection = await NativeConnection.connect({ address: temporal.address })
}, 60_000)
afterAll(() => connection?.close())
beforeEach(() => sql`truncate outbox`.execute(db))

async function put(kind: OutboxKind, executionId: string, attempts = 0): Promise<void> {
  const at = new Date(time)
  await db
    .insertInto('outbox')
    .values({
      kind,
      execution_id: executionId,
      workspace_id: 'ws_1' as WorkspaceId,
      workflow_id: 'wf_1',
      contact_id: 'con_1',
      payload: JSON.stringify({ segment: 0, reason: 'cancelled' }),
      next_at: at,
      attempts,
      created_at: at,
    })
    .execute()
}

const start = (inNamespace = namespace) =>
  startStarter({
    db,
    client: new Client({ connection, namespace: inNamespace }),
    namespace: inNamespace,
    log,
    now: () => new Date(time),
    onOutbox: () => async () => undefined,
  })

const rows = () => db.selectFrom('outbox').selectAll().orderBy('id').execute()

test('a missing namespace is no ended execution: nothing is dropped, and nothing counts as refused', async () => {
  const kinds = ['start', 'signal', 'cancel', 'domain_start', 'domain_check'] as const
  for (const kind of kinds) await put(kind, newId('execution'))
  const starter = start('no-such-namespace')
  try {
    // Each was claimed, which put off its next turn; `stop` waits until it is settled.
    await eventually(async () => {
      const next = (await rows()).map((row) => row.next_at.getTime() > time)
      expect(next).toEqual(kinds.map(() => true))
    }, SOON)
  } finally {
    await starter.stop()
  }
  expect(await rows()).toMatchObject(
    kinds.map((kind) => ({ kind, attempts: 0, refusal: null, next_at: new Date(time + 2_000) })),
  )
  const registry = new Registry()
  watchOutbox(registry, { db, log, now: () => new Date(time + 90_000) })
  expect(await registry.metrics()).toContain('dripline_outbox_oldest_seconds 90\n')
}, 120_000)

test('a signal for an execution that Temporal does not know, or that has ended, is done', async () => {
  await put('signal', newId('execution'))
  await put('cancel', newId('execution'))
  const starter = start()
  try {
    await eventually(async () => expect(await rows()).toEqual([]), SOON)
  } finally {
    await starter.stop()
  }
}, 120_000)

test('what Temporal refuses is tried less and less often, and shown with the answer', async () => {
  await put('start', UNACCEPTABLE)
  const began = time
  const starter = start()
  try {
    for (const [attempts, pause_s] of [
      [1, 2],
      [2, 4],
      [3, 8],
    ] as const) {
      const until = new Date(time + pause_s * 1_000)
      const refused = { attempts, refusal: 'INVALID_ARGUMENT', next_at: until }
      await eventually(async () => expect(await rows()).toMatchObject([refused]), SOON)
      time = until.getTime()
    }
    // The longest pause is ten minutes.
    await db
      .updateTable('outbox')
      .set({ attempts: 30, next_at: new Date(time) })
      .execute()
    const last = { attempts: 31, next_at: new Date(time + 600_000) }
    await eventually(async () => expect(await rows()).toMatchObject([last]), SOON)
  } finally {
    await starter.stop()
  }

  const registry = new Registry()
  watchOutbox(registry, { db, log, now: () => new Date(time) })
  const metrics = await registry.metrics()
  expect(metrics).toContain('dripline_outbox_refused 1\n')
  expect(metrics).toContain(`dripline_outbox_refused_oldest_seconds ${(time - began) / 1_000}\n`)
  expect(metrics, 'what was refused waits in lines of its own').toContain(
    'dripline_outbox_oldest_seconds 0\n',
  )

  const [waiting, refused] = await Promise.all([listWaitingKinds(db), listRefused(db, 9)])
  const lines = outboxLines({ waiting, refused }, 9, new Date(time))
  expect(lines[0]).toBe('1 of kind start wait, the oldest for 14 s')
  expect(lines.join('\n')).toMatch(/start {2}x+ {2}ws_1 {7}INVALID_ARGUMENT {2}31 +14 s +in 10 min/)
}, 120_000)

test('refused rows stand in a line of their own: a claim of new ones passes over them', async () => {
  for (let n = 0; n < 70; n++) await put('start', newId('execution'), 1)
  const fresh = newId('execution')
  await put('start', fresh)
  const claim = { now: new Date(time), until: new Date(time + 1), refused: false }
  const { due } = await listOutboxLines(db, null, claim)
  expect(due).toEqual([{ workspace_id: 'ws_1', starts_of: 'wf_1' }])
  const lines = due.map((line) => ({ ...line, most: 64 }))
  const { rows: claimed } = await transact.one({ db, wake: () => undefined }, ({ db: trx }) =>
    claimOutbox(trx, lines, claim),
  )
  expect(claimed.map((row) => row.execution_id)).toEqual([fresh])
  const { rows: refused } = await transact.one({ db, wake: () => undefined }, ({ db: trx }) =>
    claimOutbox(trx, lines, { ...claim, refused: true }),
  )
  expect(refused).toHaveLength(64)
})
