// What became of a walk: whether it was cut short, so that longer turns would find more.
import { expect, test } from 'vitest'
import type { WalkStep } from '../../../db/deliveries/lines.ts'
import { toWalked } from '../../../db/deliveries/walked.ts'

/** A walk through one class that began, and then found so many of one line. */
function cutOf({ found, most, turn }: { found: number; most: number; turn: number }) {
  const ids = Array.from({ length: found }, (_, i) => i + 1)
  const place = { class: 0, workspace_id: 'ws_1', shard: 1, destination: 'a.test', full_ones: [] }
  const begun: WalkStep = { ...place, n: 0, turn: 0, ids: [], destinations: [], got: 0, most }
  const destinations = ids.map(() => 'a.test')
  const step: WalkStep = { ...begun, n: 1, turn, ids, destinations, got: found }
  const walk = { shards: { from: 0, to: 64 }, turn: 160, perLine: 160, most: [most, 0, 0] }
  return toWalked([begun, step], new Set(ids), walk)[0]?.cut
}

test('a walk is cut by the end of a turn, by what one line may have, and by what its class may have', () => {
  expect(cutOf({ found: 20, most: 200, turn: 0 }), 'its turn').toBe(true)
  expect(cutOf({ found: 160, most: 200, turn: 40 }), 'its line').toBe(true)
  expect(cutOf({ found: 50, most: 50, turn: 110 }), 'its class').toBe(true)
  expect(cutOf({ found: 50, most: 200, turn: 110 }), 'it had no more').toBe(false)
})
