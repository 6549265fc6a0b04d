// The places of requests of nodes: shares of a worker and of a host, whose turn it is, and when those come again that found none.
import { afterEach, expect, test, vi } from 'vitest'
import { createCallPlaces } from '../../../activities/callPlaces.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'
import { limits } from '../../../rules/limits.ts'

type Places = ReturnType<typeof createCallPlaces>
type GiveBack = () => void

/** Ends all waits when a test is over. */
const leaving: AbortController[] = []
afterEach(() => {
  for (const one of leaving.splice(0)) one.abort()
  vi.useRealTimers()
})

/** Lets everything run that waits for nothing but promises. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Takes a place. `got` is undefined while it waits, and null when there is none. */
function take(places: Places, workspace: string, host: string) {
  const one: { got?: GiveBack | null } = {}
  const gone = new AbortController()
  leaving.push(gone)
  places.take(workspace as WorkspaceId, host, gone.signal).then(
    (got) => {
      one.got = got
    },
    () => undefined,
  )
  return one
}

/** Takes so many times. @returns what gives back those that it got at once */
async function takeMany(places: Places, count: number, workspace: string, host: string) {
  const all = Array.from({ length: count }, () => take(places, workspace, host))
  await settled()
  return all.flatMap(({ got }) => got ?? [])
}

test('a workspace takes half of a host, and leaves a place to another one, however often it asks', async () => {
  const places = createCallPlaces()
  const first = await takeMany(places, 100, 'ws_1', 'host')
  expect(first).toHaveLength(limits.httpCallsPerHostMax / 2)
  expect(await takeMany(places, 100, 'ws_1', 'host')).toEqual([])
  expect(await takeMany(places, 1, 'ws_2', 'host')).toHaveLength(1)
})

test('at a host that many workspaces crowd, the next place is that of who waits, not of who asks most', async () => {
  const places = createCallPlaces()
  const crowd = ['ws_1', 'ws_2', 'ws_3', 'ws_4', 'ws_5', 'ws_6', 'ws_7', 'ws_8', 'ws_9']
  const taken: GiveBack[] = []
  for (const one of crowd) taken.push(...(await takeMany(places, 100, one, 'host')))
  expect(taken).toHaveLength(limits.httpCallsPerHostMax)
  const late = take(places, 'ws_late', 'host')
  await settled()
  expect(late.got).toBeUndefined()
  // Those of the others that wait stand before it.
  for (const giveBack of taken.slice(0, crowd.length)) {
    expect(await takeMany(places, 100, 'ws_1', 'host')).toEqual([])
    giveBack()
    await settled()
  }
  expect(late.got).toBeTypeOf('function')
})

test('of six workspaces, five of which keep all that they get, the sixth gets a place', async () => {
  const places = createCallPlaces()
  for (const one of ['ws_1', 'ws_2', 'ws_3', 'ws_4', 'ws_5']) {
    for (const host of ['a', 'b', 'c', 'd', 'e']) {
      await takeMany(places, 100, one, `${one}.${host}`)
    }
  }
  expect(await takeMany(places, 1, 'ws_6', 'ws_6.host')).toHaveLength(1)
})

test('one slow host of a workspace, and a second one, leave room for its others', async () => {
  const places = createCallPlaces()
  await takeMany(places, 100, 'ws_1', 'slow')
  await takeMany(places, 100, 'ws_1', 'slow too')
  expect(await takeMany(places, 5, 'ws_1', 'fast')).toHaveLength(5)
})

test('who has waited for long is turned away; who gives its place back lets the next one in', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const places = createCallPlaces()
  const [giveBack] = await takeMany(places, 20, 'ws_1', 'host')
  const waiting = take(places, 'ws_1', 'host')
  // One for each workspace waits; a further one is told to come again.
  const more = take(places, 'ws_1', 'host')
  await settled()
  expect([waiting.got, more.got]).toEqual([undefined, null])
  vi.advanceTimersByTime(limits.placeWaitMsMax)
  await settled()
  expect(waiting.got).toBeNull()
  const next = take(places, 'ws_1', 'host')
  giveBack?.()
  await settled()
  expect(next.got).toBeTypeOf('function')
})

test('a wait ends with the try that waits, for the reason for which that ends', async () => {
  const places = createCallPlaces()
  await takeMany(places, 20, 'ws_1', 'host')
  const giving = new AbortController()
  const waiting = places.take('ws_1' as WorkspaceId, 'host', giving.signal)
  const reason = new Error('its worker stops')
  giving.abort(reason)
  await expect(waiting).rejects.toBe(reason)
})

test('those of one workspace come again 40 a second at most, whatever their hosts; others in their own time', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const places = createCallPlaces()
  const pauses = Array.from({ length: 10_000 }, () => places.retryAfter_ms('ws_1' as WorkspaceId))
  expect(pauses[0]).toBe(1_000)
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(1_000 + 9_999 * 25)
  expect(places.retryAfter_ms('ws_2' as WorkspaceId)).toBe(1_000)
})

test('of very many none waits for longer than ten minutes, and they come spread over these', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  for (const [count, secondMax] of [
    [20_000, 40],
    [100_000, 5 * 40],
  ] as const) {
    const places = createCallPlaces()
    const perSecond = new Map<number, number>()
    for (let n = 0; n < count; n++) {
      const second = Math.floor(places.retryAfter_ms('ws_1' as WorkspaceId) / 1_000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
    expect(Math.max(...perSecond.keys())).toBeLessThanOrEqual(600)
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(secondMax)
  }
})

test('where calls are slow they come again at the pace at which places become free', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const places = createCallPlaces()
  const inside = await takeMany(places, 20, 'ws_1', 'host')
  places.retryAfter_ms('ws_1' as WorkspaceId)
  vi.advanceTimersByTime(10_000)
  for (const giveBack of inside) {
    giveBack()
    inside.push(...(await takeMany(places, 1, 'ws_1', 'host')))
    if (inside.length > 60) break
    vi.advanceTimersByTime(500)
  }
  const [first = 0, second = 0] = [1, 2].map(() => places.retryAfter_ms('ws_1' as WorkspaceId))
  expect(second - first).toBeGreaterThan(400)
  expect(second - first).toBeLessThan(600)
})
