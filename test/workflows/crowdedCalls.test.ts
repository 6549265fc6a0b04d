// What some workspaces call and what does not answer keeps no request of another workspace from being made.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase({ poolSize: 20 })
const { db } = database
/** Each is a host of its own. */
const servers = await Promise.all(Array.from({ length: 5 }, createHttpServer))
const own = await createHttpServer()

type Seeded = Awaited<ReturnType<typeof seedWorkspace>>
let engine: Engine
let other: Seeded
beforeAll(async () => {
  engine = await startEngine(database, { callPace: 0.01 })
  other = await seedWorkspace(db)
})
afterAll(() => engine?.stop())

/** Longer than Temporal lets a try take, which is a minute. */
const TIMEOUT_MS = 600_000
const CALLS = 25

/** Starts executions of a workspace, each of another contact, that call a URL. @returns their ids */
async function call(workspace: Seeded, url: string, count: number): Promise<string[]> {
  const eventName = uniqueName('event')
  const ask = { method: 'GET', url, timeout_ms: TIMEOUT_MS }
  const flow = design(
    { start: onEvent(eventName), ask: ['http_request', ask], end: ['exit', {}] },
    [
      ['start', 'ask'],
      ['ask', 'end', 'success'],
    ],
  )
  await insertFlow(db, workspace, flow)
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const email = `${uniqueName('c')}@example.test`
    const { executionIds } = await recordEvent(db, workspace.workspaceId, { eventName, email })
    ids.push(...executionIds)
  }
  engine.wake()
  return ids
}

test('beside five workspaces whose services do not answer, a sixth calls one of them, and its own', async () => {
  const held: (() => void)[] = []
  let isOver = false
  /** Tries that a time-out has ended. */
  let ended = 0
  const hanging: string[] = []
  for (const server of servers) {
    server.answer('/hang', (res, came) => {
      const answer = () => json(200, {})(res, came)
      if (isOver) return answer()
      held.push(answer)
      res.once('close', () => {
        if (!res.writableEnded) ended += 1
      })
    })
    hanging.push(...(await call(await seedWorkspace(db), `${server.url}/hang`, CALLS)))
  }
  // As many as a host lets in of one workspace, and a worker of five.
  await eventually(() => expect(held.length - ended).toBeGreaterThanOrEqual(4 * 20))
  await eventually(
    async () => {
      const before = ended
      const called = [servers[0], own].map((server) => call(other, `${server?.url}/fine`, 1))
      for (const [id] of await Promise.all(called)) await engine.ended(id ?? '', 'COMPLETED')
      // No place became free meanwhile: they had some that were left to them.
      expect(ended).toBe(before)
    },
    { deadline_ms: 120_000 },
  )

  isOver = true
  for (const answer of held) answer()
  for (const id of hanging) await engine.ended(id, 'COMPLETED')
}, 600_000)
