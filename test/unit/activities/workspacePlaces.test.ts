// The places of segments by their workspaces: one alone gets half, and nobody waits behind those that stand still.
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

test('who waits is turned away after half a second, and who comes then at once, until one goes on', async () => {
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
  const pauses = [places.retryAfter_ms(a), places.retryAfter_ms(a), places.retryAfter_ms(b)]
  expect(pauses[0]).toBe(2_000)
  expect(pauses[1]).toBeGreaterThan(2_000)
  expect(pauses[2]).toBe(2_000)
})

test('a wait ends with the try that waits', async () => {
  const places = createWorkspacePlaces(2)
  await places.take(a, signal)
  const giving = new AbortController()
  const waiting = places.take(a, giving.signal)
  giving.abort()
  await expect(waiting).rejects.toThrow('went away')
})
