// Whose executions the starter starts: workspaces in turn, and of one workspace no more than begin. No worker runs here.
import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { listen } from '../../db/listen.ts'
import { ENGINE } from '../../rules/engine.ts'
import { createLog } from '../../runtime/log.ts'
import { startStarter } from '../../worker/starter.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'

const AHEAD = 24
const { db, url } = await createTestDatabase()
const flow = design({ start: onEvent('began'), hello: mail('Hello') }, [['start', 'hello']])
const closers: (() => Promise<unknown>)[] = []
let starter: ReturnType<typeof startStarter> | undefined

const begin = async () => {
  const { address, namespace } = await createTestNamespace()
  const connection = await NativeConnection.connect({ address })
  closers.push(() => connection.close())
  starter = startStarter({
    db,
    client: new Client({ connection, namespace }),
    namespace,
    log: createLog('starter', 'silent'),
    now,
    // For a minute: no worker runs here, and by the usual bounds more would start after three seconds.
    startsAhead: [{ size: 2 * AHEAD, within_ms: 60_000 }],
    onOutbox: (heard) => listen(url, 'dripline_outbox', heard, () => undefined),
  })
}

async function createCustomer(executions: number) {
  const workspace = await seedWorkspace(db)
  await insertFlow(db, workspace, flow)
  const { workspaceId } = workspace
  const ids: string[] = []
  for (let n = 0; n < executions; n++) {
    const event = { eventName: 'began', email: `c${n}@example.test`, properties: {} }
    ids.push(...(await recordEvent(db, workspaceId, event)).executionIds)
  }
  const waiting = async () => {
    const rows = await db
      .selectFrom('outbox')
      .select(['execution_id', 'kind'])
      .where('workspace_id', '=', workspaceId)
      .where('kind', 'in', ['start', 'cancel'])
      .orderBy('id')
      .execute()
    return rows.map((row) => row.execution_id)
  }
  return { workspace, workspaceId, ids, waiting }
}

const [many, one] = [await createCustomer(AHEAD + 6), await createCustomer(1)]

beforeAll(begin, 30_000)
afterAll(async () => {
  await starter?.stop()
  for (const close of closers) await close()
})

test('of one workspace as many are started as may be ahead, the oldest first; the other one does not wait for that, nor does another workflow', async () => {
  await eventually(async () => {
    expect(await one.waiting()).toEqual([])
    expect(await many.waiting()).toEqual(many.ids.slice(AHEAD))
  })
  await insertFlow(
    db,
    many.workspace,
    design({ start: onEvent('asked'), hello: mail('Hello') }, [['start', 'hello']]),
  )
  await recordEvent(db, many.workspaceId, {
    eventName: 'asked',
    email: 'c0@example.test',
    properties: {},
  })
  await eventually(async () => expect(await many.waiting()).toEqual(many.ids.slice(AHEAD)))
})

test('what is no start does not stand behind the starts', async () => {
  const [executionId = ''] = many.ids
  const commands = { db, newId, now, wake: () => undefined }
  await cancelExecution(commands, many.workspaceId, { executionId, reason: 'by hand' })
  // It has ended by that, and makes place for one.
  await eventually(async () => expect(await many.waiting()).toEqual(many.ids.slice(AHEAD + 1)))
})

test('when some have begun, as many more are started', async () => {
  await sql`insert into execution_segments (execution_id, segment, result, engine, created_at)
    select id, 0, '{}', ${ENGINE}, now() from unnest(${many.ids.slice(1, 4)}::text[]) as id`.execute(
    db,
  )
  await eventually(async () => expect(await many.waiting()).toEqual(many.ids.slice(AHEAD + 4)))
})
