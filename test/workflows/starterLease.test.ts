// What a starter hands over it holds by a lease, and by no lock: Temporal may take as long as it likes to answer.
import { connect, createServer } from 'node:net'
import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../runtime/log.ts'
import { startStarter } from '../../worker/starter.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent, recordEvent } from '../setup/flows.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'

const { db } = await createTestDatabase()
const SOON = { deadline_ms: 60_000 }

/** A way to a server that falls silent: what comes after `fallSilent` is counted and goes nowhere. */
async function startProxy(target: string) {
  const [host = '', port = ''] = target.split(':')
  let isSilent = false
  let unheard_bytes = 0
  const server = createServer((socket) => {
    const upstream = connect(Number(port), host)
    socket.on('data', (chunk) => {
      if (isSilent) unheard_bytes += chunk.length
      else upstream.write(chunk)
    })
    upstream.on('data', (chunk) => void (isSilent || socket.write(chunk)))
    for (const end of [socket, upstream]) {
      end.on('error', () => undefined)
      onTestFinished(() => void end.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const at = server.address()
  if (at === null || typeof at === 'string') throw new Error('no port')
  return {
    address: `127.0.0.1:${at.port}`,
    fallSilent: () => {
      isSilent = true
    },
    unheard_bytes: () => unheard_bytes,
  }
}

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
