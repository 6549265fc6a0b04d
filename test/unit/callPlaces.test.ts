// How many requests of nodes a worker makes at once: bounds by workspace and by host, and when the others come again.
import { expect, test } from 'vitest'
import { createCallPlaces } from '../../activities/callPlaces.ts'
import { limits } from '../../rules/limits.ts'

const fill = (count: number, take: (i: number) => (() => void) | null) =>
  Array.from({ length: count }, (_, i) => take(i)).flatMap((giveBack) => giveBack ?? [])

test('a workspace has so many, whatever the hosts; others are not held up by it', () => {
  const places = createCallPlaces()
  const taken = fill(100, (i) => places.take('ws_1', `host${i}`))
  expect(taken).toHaveLength(limits.httpCallsPerWorkspaceMax)
  expect(places.take('ws_2', 'host0')).not.toBeNull()
  taken[0]?.()
  expect(places.take('ws_1', 'host0')).not.toBeNull()
  expect(places.take('ws_1', 'host0')).toBeNull()
})

test('a host has so many, whatever the workspaces', () => {
  const places = createCallPlaces()
  expect(fill(100, (i) => places.take(`ws_${i}`, 'host'))).toHaveLength(limits.httpCallsPerHostMax)
  expect(places.take('ws_0', 'other')).not.toBeNull()
})

test('who has no place comes again later each time, and not all at once', () => {
  const at = (random: number) => {
    const { retryAfter_ms } = createCallPlaces(() => random)
    return [1, 2, 10, 1_000].map(retryAfter_ms)
  }
  expect(at(0)).toEqual([250, 500, 2_500, 15_000])
  expect(at(0.999)).toEqual([750, 1_499, 7_495, 44_970])
})
