// What `npm run lanes` says beside its table.
import { expect, test } from 'vitest'
import type { LaneState } from '../../../operate/laneStates.ts'
import { laneLines } from '../../../operate/laneTable.ts'

const lane = (number: number, over: Partial<LaneState> = {}): LaneState => ({
  lane: number,
  shards: '0-31',
  workflowId: `lane-delivery-${number}`,
  worker: '12@mail',
  heartbeatAge_ms: 500,
  attempt: 1,
  lastFailure: null,
  breakers: { sender: 0, address: 0, account: 0 },
  waiting: '0',
  underWay: 0,
  oldest_s: 0,
  ...over,
})

test('it says once of each worker that it holds mail back, and for which faults of ours', () => {
  const breakers = { sender: 2, address: 0, account: 1 }
  const lanes = [lane(0, { breakers }), lane(1, { breakers }), lane(2, { worker: '13@mail' })]
  expect(laneLines(lanes, 3).slice(4)).toEqual([
    '12@mail holds mail back and tries one a minute, since it was refused for a fault of ours (sender 2, account 1): ' +
      'its log says "a breaker opened", with the code',
  ])
  expect(laneLines([lane(0, { breakers: null }), lane(1)], 2)).toHaveLength(3)
})
