// What a starter hands over it holds by a lease, and by no lock: Temporal may take as long as it likes to answer.
import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createLog } from '../../runtime/log.ts'
import { startStarter } from '../../worker/starter.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent, recordEvent } from '../setup/flows.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'
import { startProxy } from '../setup/silentProxy.ts'

const { db } = await createTestDatabase()
const SOON = { deadline_ms: 60_000 }

const startWith = (client: Client, namespace: string, later_ms = 0) =>
  startStarter({
    db,
    client,
    namespace,
    log: createLog('starter', 'silent'),
    now: () => new Date(Date.now() + later_ms),
    onOutbox: () => async () => undefined,
  })

test('while Temporal does not answer no row is locked; when the lease has ended another worker takes it', async () => {
  const { address, namespace } = await createTestNamespace()
  const workspace = await seedWorkspace(db)
  await insertFlow(db, workspace, design({ start: onEvent('began'), hello: mail('Hello') }, []))
  const event = { eventName: 'began', email: 'c@example.test', at: now() }
  const { executionIds } = await recordEvent(db, workspace.workspaceId, event)

  const proxy = await startProxy(address)
  const connection = await NativeConnection.connect({ address: proxy.address })
  proxy.fallSilent()
  const waiting = startWith(new Client({ connection, namespace }), namespace)
  await eventually(async () => {
    expect(proxy.unheard_bytes()).toBeGreaterThan(0)
    // Claimed, so that no other worker looks at it meanwhile.
    const { next_at } = await db.selectFrom('outbox').select('next_at').executeTakeFirstOrThrow()
    expect(next_at.getTime()).toBeGreaterThan(Date.now())
  }, SOON)
  await db.transaction().execute(async (trx) => {
    const rows = await sql`select id from outbox for update nowait`.execute(trx)
    expect(rows.rows).toHaveLength(1)
  })

  const answering = await NativeConnection.connect({ address })
  const client = new Client({ connection: answering, namespace })
  const other = startWith(client, namespace, 120_000)
  await eventually(async () => {
    expect(await db.selectFrom('outbox').select('id').execute()).toEqual([])
  }, SOON)
  const { status } = await client.workflow.getHandle(executionIds[0] ?? '').describe()
  expect(status.name).toBe('RUNNING')
  await other.stop()
  await waiting.stop()
  await answering.close()
  await connection.close()
}, 180_000)
