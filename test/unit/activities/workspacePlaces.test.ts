// The places of segments by their workspaces: one alone gets half, and nobody waits behind those that stand still.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createWorkspacePlaces } from '../../../activities/segment/workspacePlaces.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const [a, b] = ['ws_a', 'ws_b'] as WorkspaceId[] as [WorkspaceId, WorkspaceId]
const { signal } = new AbortController()

test('one workspace gets half of the connections, and another one some of the rest', async () => {
  const places = createWorkspacePlaces(20)
  const inside = await Promise.all(Array.from({ length: 10 }, () => places.take(a, signal)))
  expect(inside.every((place) => place !== null)).toBe(true)
  const waiting = places.take(a, signal)
  const others = await Promise.all(Array.from({ length: 5 }, () => places.take(b, signal)))
  expect(others.every((place) => place !== null)).toBe(true)
  for (const giveBack of [...others, inside[0]]) giveBack?.()
  expect(await waiting).not.toBeNull()
})

test('who waits behind those that stand still is turned away after half a second, and who comes then at once, until one goes on', async () => {
  const places = createWorkspacePlaces(2)
  const inside = await places.take(a, signal)
  const began = performance.now()
  expect(await places.take(a, signal)).toBeNull()
  expect(performance.now() - began).toBeGreaterThan(450)
  const since = performance.now()
  for (let n = 0; n < 20; n++) expect(await places.take(a, signal)).toBeNull()
  expect(performance.now() - since).toBeLessThan(400)
  inside?.()
  const next = await places.take(a, signal)
  const waiting = places.take(a, signal)
  next?.()
  expect(await waiting).not.toBeNull()
  expect(places.retryAfter_ms(a)).toBe(2_000)
})

test('a wait ends with the try that waits, for the reason for which that ends', async () => {
  const places = createWorkspacePlaces(2)
  await places.take(a, signal)
  const giving = new AbortController()
  const waiting = places.take(a, giving.signal)
  const reason = new Error('its worker stops')
  giving.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  await expect(places.take(a, giving.signal)).rejects.toBe(reason)
})

test.each([2, 3, 4, 5, 6, 20])(
  'of %i connections one workspace leaves one to another',
  async (connections) => {
    const places = createWorkspacePlaces(connections)
    while (await places.take(a, signal));
    expect(await places.take(b, signal)).not.toBeNull()
  },
)

test('of twenty connections four workspaces that stand still leave one to a fifth', async () => {
  const places = createWorkspacePlaces(20)
  const got: number[] = []
  for (const name of ['ws_a', 'ws_b', 'ws_c', 'ws_d', 'ws_e']) {
    let count = 0
    while (await places.take(name as WorkspaceId, signal)) count++
    got.push(count)
  }
  expect(got).toEqual([10, 5, 2, 1, 1])
})

test('where the line goes on nobody is turned away', async () => {
  const places = createWorkspacePlaces(2)
  const one = async () => {
    const giveBack = await places.take(a, new AbortController().signal)
    await delay(20)
    giveBack?.()
    return giveBack !== null
  }
  expect(await Promise.all(Array.from({ length: 40 }, one))).toEqual(Array(40).fill(true))
})
