// Paging through executions while many start, wait, continue as new and end: nobody is missing, and none is shown twice but who
// ended meanwhile.
import { Connection } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { inParallel } from '../../runtime/parallel.ts'
import { createTemporalReads } from '../../runtime/temporalReads.ts'
import { createTestApi } from '../setup/api.ts'
import type { ExecutionPage } from '../setup/apiEngine.ts'
import { startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { createRandom } from '../setup/random.ts'
import { startPrivateTemporal } from '../setup/servers.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()

const LAPS = 3
/** Three pages. */
const FIRST = 105
const ROUNDS = 2
/** Events that are posted at once. */
const AT_ONCE = 8
const TEST_MS = 600_000

/** It ends after so many events, and each of its waits begins a new run. */
const laps = {
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: 'begun' } },
    ...Array.from({ length: LAPS }, (_, lap) => ({
      id: `wait${lap}`,
      type: 'wait_for_event',
      data: { event_name: 'moved' },
    })),
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: ['start', ...Array.from({ length: LAPS }, (_, lap) => `wait${lap}`), 'end']
    .map((id, i, all) => ({ id: `e${i}`, source: all[i - 1] ?? '', target: id }))
    .slice(1)
    .map((edge, i) => (i === 0 ? edge : { ...edge, sourceHandle: 'received' })),
}

async function setUp() {
  // Every task suggests to continue as new.
  const temporal = await startPrivateTemporal({ 'limit.historyCount.suggestContinueAsNew': 1 })
  const { address } = temporal
  const engine = await startEngine(api, { temporal: { address, namespace: 'default' } })
  onTestFinished(() => engine.stop())
  const connection = await Connection.connect({ address })
  onTestFinished(() => connection.close())
  const app = createApp({ ...api.deps, temporal: createTemporalReads(connection, 'default') })
  const flow = { name: 'Laps', status: 'active', design: laps }
  const made = await api.request<{ workflow_id: string }>('POST', '/v1/workflows', flow)
  const path = `/v1/workflows/${made.body.workflow_id}/executions`
  const addresses = new Map<string, string>()
  const tell = async (event_name: string, email: string) => {
    const body = { event_name, email }
    const told = await api.request<{ executions: string[] }>('POST', '/v1/automation/events', body)
    expect(told.status).toBe(202)
    engine.wake()
    return told.body.executions[0] ?? ''
  }
  // Temporal may not answer in time on a busy machine: then the same page is asked for again, as by any client.
  const page = (query: string): Promise<ExecutionPage> =>
    eventually(async () => {
      const headers = { authorization: `Bearer ${api.key}` }
      const answer = await app.request(`${path}${query}`, { headers })
      const text = await answer.text()
      expect([answer.status, answer.status === 200 ? '' : text]).toEqual([200, ''])
      return JSON.parse(text) as ExecutionPage
    })
  const live = async () => {
    const rows = await api.db
      .selectFrom('executions')
      .select('id')
      .where('ended_status', 'is', null)
      .execute()
    return rows.map(({ id }) => id)
  }
  return {
    engine,
    addresses,
    async start(n: number) {
      await inParallel(Array.from({ length: n }), AT_ONCE, async () => {
        const email = `${uniqueName('c')}@example.test`
        addresses.set(await tell('begun', email), email)
      })
    },
    move: (ids: string[]) =>
      inParallel(ids, AT_ONCE, (id) => tell('moved', addresses.get(id) ?? '')),
    live,
    /** Waits until nothing that was posted is on its way any more: then those that have not ended wait. */
    settled: () =>
      eventually(async () => {
        const told = await api.db.selectFrom('outbox').select('id').execute()
        expect(told.length).toBe(0)
        const waiting = await live()
        const states = await Promise.all(waiting.map((id) => engine.describe(id)))
        expect(states.filter(({ status }) => status !== 'WAITING').length).toBe(0)
        return waiting
      }),
    /** All pages as one list of ids. */
    async read(status: string, between: () => Promise<unknown>): Promise<string[]> {
      const ids: string[] = []
      let cursor: string | null = null
      do {
        const query: string[] = [
          ...(status === '' ? [] : [`status=${status}`]),
          ...(cursor === null ? [] : [`cursor=${cursor}`]),
        ]
        const found = await page(query.length > 0 ? `?${query.join('&')}` : '')
        ids.push(...found.executions.map((row) => row.execution_id))
        cursor = found.cursor
        if (cursor !== null) await between()
      } while (cursor !== null)
      return ids
    },
  }
}

test(
  'nobody is missing, and none is twice but who ended meanwhile',
  async () => {
    const { engine, addresses, start, move, live, settled, read } = await setUp()
    const random = createRandom(20261123)
    await start(FIRST)
    await Promise.all([...addresses.keys()].map((id) => engine.waiting(id, 'wait0')))
    for (let round = 0; round < ROUNDS; round++) {
      for (const status of ['', 'WAITING']) {
        const waiting = await settled()
        const known = status === '' ? [...addresses.keys()] : waiting
        const found = await read(status, async () => {
          const chosen = (await live()).filter(() => random.next() < 0.15)
          await Promise.all([start(5), move(chosen)])
          // Some have continued as new by now, and some are about to.
          await Promise.all(
            chosen.slice(0, 5).map((id) =>
              eventually(async () => {
                const { memo, closedAt } = await engine.describe(id)
                expect(closedAt !== null || memo?.step !== 'wait0').toBe(true)
              }),
            ),
          )
        })
        const alive = new Set(await live())
        const missing = known.filter((id) => !found.includes(id))
        const twice = found.filter((id, i) => found.indexOf(id) !== i)
        expect({ status, missing: missing.filter((id) => status === '' || alive.has(id)) }).toEqual(
          {
            status,
            missing: [],
          },
        )
        expect({ status, twice: twice.filter((id) => status !== '' || alive.has(id)) }).toEqual({
          status,
          twice: [],
        })
      }
    }
    expect(addresses.size).toBeGreaterThan(FIRST + 20)
  },
  TEST_MS,
)
