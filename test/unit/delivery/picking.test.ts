// The order among the mail that a lane knows of: classes by weight, workspaces and destinations in turn, and no more than there is room for.
import { expect, test } from 'vitest'
import type { InLine } from '../../../db/deliveries/lines.ts'
import type { Line } from '../../../delivery/lane/line.ts'
import { Lines } from '../../../delivery/lane/lines.ts'
import { pickForClaim } from '../../../delivery/lane/picking.ts'
import { anyRoom, type Waiting, waiting } from '../../setup/waitingMail.ts'

/** A lane that knows of this mail alone, and has nothing to read. */
function laneOf(...mail: Waiting[]) {
  const lines = new Lines()
  for (const one of mail) lines.add(waiting(one))
  const readMore = async (unread: readonly Line[]) => expect(unread).toEqual([])
  return {
    lines,
    claim: (limit: number, rooms = anyRoom, now = 1) =>
      pickForClaim(lines, readMore, { limit, rooms, now }),
  }
}

const countsOf = (rows: readonly InLine[], column: 'class' | 'workspace_id' | 'destination') => {
  const counts: Record<string, number> = {}
  for (const row of rows) counts[row[column]] = (counts[row[column]] ?? 0) + 1
  return counts
}

test('classes share a claim by their weights, and what one leaves the others get', async () => {
  const { claim } = laneOf(...[0, 1, 2].map((place) => ({ count: 130, class: place })))
  expect(countsOf((await claim(200)).rows, 'class')).toEqual({ 0: 120, 1: 60, 2: 20 })
  expect(countsOf((await claim(100)).rows, 'class')).toEqual({ 0: 10, 1: 68, 2: 22 })
  const { rows, more } = await claim(200)
  expect(countsOf(rows, 'class')).toEqual({ 1: 2, 2: 88 })
  expect(more).toBe(false)
})

test('workspaces take turns, and who was last is last in the next claim', async () => {
  const { claim } = laneOf(
    { count: 150, workspace: 'ws_a' },
    { count: 9, workspace: 'ws_b' },
    { count: 2, workspace: 'ws_c' },
  )
  const names = async (limit: number) =>
    (await claim(limit)).rows.map(({ workspace_id }) => workspace_id.at(-1)).join('')
  expect(await names(2)).toBe('ab')
  expect(await names(4)).toBe('cabc')
  expect(await names(5)).toBe('ababa')
  expect(await names(20)).toBe('bababababaaaaaaaaaaa')
})

test('a workspace takes of its destinations in turn, of each what is due longest', async () => {
  const { lines, claim } = laneOf(
    { count: 150, destination: 'a.test', at: -5 },
    { count: 3, destination: 'b.test' },
  )
  const [late] = waiting({ count: 1, destination: 'b.test', at: -9 })
  lines.add(late ? [late] : [])
  const { rows } = await claim(4)
  expect(rows.map(({ destination }) => destination[0]).join('')).toBe('abab')
  expect(rows[1]).toEqual(late)
})

test('what has no room or is not due waits, and the full destinations are told', async () => {
  const { lines, claim } = laneOf(
    { count: 9, destination: 'full.test' },
    { count: 9, destination: 'small.test' },
    { count: 9, destination: 'later.test', at: 50 },
  )
  const rooms = {
    known: new Map([
      ['full.test', 0],
      ['small.test', 2],
    ]),
    other: 5,
  }
  const first = await claim(20, rooms)
  expect(countsOf(first.rows, 'destination')).toEqual({ 'small.test': 2 })
  expect([first.full.sort(), first.more]).toEqual([['full.test', 'small.test'], false])
  const later = await claim(20, rooms, 50)
  expect(countsOf(later.rows, 'destination')).toEqual({ 'small.test': 2, 'later.test': 5 })
  lines.add(first.rows)
  expect(countsOf((await claim(99)).rows, 'destination')).toEqual({
    'full.test': 9,
    'small.test': 7,
  })
})

test('the room of a destination holds over classes and workspaces', async () => {
  const { claim } = laneOf(
    ...[0, 1, 2].flatMap((place) =>
      ['ws_a', 'ws_b'].map((workspace) => ({ count: 30, class: place, workspace })),
    ),
  )
  const { rows } = await claim(100, { known: new Map([['one.test', 20]]), other: 0 })
  expect(countsOf(rows, 'class')).toEqual({ 0: 12, 1: 6, 2: 2 })
  expect(countsOf(rows, 'workspace_id')).toEqual({ ws_a: 10, ws_b: 10 })
})

test('where all lines of a workspace are full that it has a share for, others take their places', async () => {
  const limits = { lines: 9, share: [2, 2], rows: 99, lineRows: [9, 4] } as const
  const lines = new Lines(limits)
  for (const destination of ['a.test', 'b.test', 'c.test']) {
    lines.add(waiting({ count: 2, destination }))
  }
  expect(lines.hasPartial()).toBe(false)
  const rooms = {
    known: new Map([
      ['a.test', 0],
      ['b.test', 0],
    ]),
    other: 5,
  }
  let now = 0
  const claim = () => {
    now += 1_000
    return pickForClaim(lines, async () => undefined, { limit: 9, rooms, now })
  }
  expect((await claim()).rows).toEqual([])
  const after = lines.askPartial()
  expect(after).toMatchObject({ workspace_id: 'ws_1', shard: -1 })
  if (!after) return
  const heads = ['a.test', 'b.test', 'c.test'].flatMap((destination) =>
    waiting({ count: 1, destination }),
  )
  // Two have places again, which they lose; the search goes on behind them.
  lines.foundBehind(after, { heads, next: null })
  expect((await claim()).rows).toEqual([])
  const behind = lines.askPartial()
  expect(behind).toMatchObject({ destination: 'b.test' })
  if (!behind) return
  lines.foundBehind(behind, { heads: heads.slice(2), next: null })
  expect((await claim()).rows).toEqual(heads.slice(2))
})

/** A workspace that remembers four lines, and has more. */
function narrowLane(...destinations: string[]) {
  const lines = new Lines({ lines: 9, share: [4, 4], rows: 99, lineRows: [9, 4] })
  for (const destination of destinations) lines.add(waiting({ count: 9, destination }))
  let now = 0
  return {
    lines,
    remembered: () => [...(lines.classes[0]?.get('ws_1')?.lines.values() ?? [])],
    async claim(full: readonly string[], room = 2) {
      now += 1_000
      const rooms = { known: new Map(full.map((one) => [one, 0])), other: room }
      const { rows } = await pickForClaim(lines, async () => undefined, { limit: 9, rooms, now })
      return countsOf(rows, 'destination')
    },
  }
}

test('where half of the lines are full others take their places, although one has mail to send', async () => {
  const { lines, remembered, claim } = narrowLane(
    'a.test',
    'b.test',
    'busy.test',
    'c.test',
    'd.test',
  )
  expect(await claim(['a.test', 'b.test', 'c.test'])).toEqual({ 'busy.test': 2 })
  expect(remembered().map(({ destination }) => destination)).toEqual(['busy.test'])
  const after = lines.askPartial()
  expect(after).toMatchObject({ workspace_id: 'ws_1', shard: -1 })
  if (!after) return
  lines.foundBehind(after, { heads: waiting({ count: 1, destination: 'd.test' }), next: null })
  expect(await claim([])).toEqual({ 'busy.test': 2, 'd.test': 1 })
})

test('where most lines have room none gives up its place, and no line whose room this claim has used', async () => {
  const { lines, remembered, claim } = narrowLane('a.test', 'b.test', 'c.test', 'd.test', 'e.test')
  expect(await claim(['a.test'])).toEqual({ 'b.test': 2, 'c.test': 2, 'd.test': 2 })
  expect(remembered()).toHaveLength(4)
  // Another workspace, whose turn is first, takes all the room of one destination.
  const [receipt] = waiting({ count: 1, workspace: 'ws_0', destination: 'd.test' })
  if (!receipt) return
  const before = lines.classes[0]?.get('ws_1')
  lines.classes[0]?.clear()
  lines.add([receipt])
  if (before) lines.classes[0]?.set('ws_1', before)
  expect(await claim(['a.test', 'b.test', 'c.test'], 1)).toEqual({ 'd.test': 1 })
  expect(remembered().map(({ destination }) => destination)).toEqual(['d.test'])
})

/** A lane that remembers 1,000 lines of each of twelve workspaces, and knows that they have more. */
function wideLane() {
  const size = 1_000
  const lines = new Lines({ lines: 99_999, share: [size, size], rows: 99_999, lineRows: [9, 4] })
  for (let place = 0; place < 12; place++) {
    for (let n = 0; n <= size; n++) {
      lines.add(waiting({ count: 1, workspace: `ws_${place}`, destination: `d${n}.test` }))
    }
  }
  const workspaces = [...(lines.classes[0]?.values() ?? [])]
  return {
    workspaces,
    /** Claims one delivery while so many destinations are full. */
    async claim(now: number, full: number) {
      const known = new Map(Array.from({ length: full }, (_, n) => [`d${n}.test`, 0]))
      const rooms = { known, other: 5 }
      await pickForClaim(lines, async () => undefined, { limit: 1, rooms, now })
    },
  }
}

test('before one claim the lines of few workspaces give up their places, before the next ones those of the others', async () => {
  const { workspaces, claim } = wideLane()
  const given: number[] = []
  for (const now of [1, 2, 3]) {
    await claim(now, 600)
    given.push(workspaces.filter(({ lines }) => lines.size < 500).length)
  }
  expect(given).toEqual([5, 10, 12])
})

test('no workspace waits longer for that than the others, also where the clock was set back', async () => {
  const { workspaces, claim } = wideLane()
  const looks = workspaces.map(() => 0)
  // At each claim all are due again.
  for (const n of [1, 2, 3, 4, 5, 6, -6, -5, -4, -3, -2, -1]) {
    const before = workspaces.map(({ fullLookAt }) => fullLookAt)
    await claim(n * 5_000, 1)
    for (const [i, { fullLookAt }] of workspaces.entries()) {
      if (fullLookAt !== before[i]) looks[i] = (looks[i] ?? 0) + 1
    }
  }
  expect(Math.min(...looks)).toBeGreaterThanOrEqual(4)
  expect(Math.max(...looks)).toBeLessThanOrEqual(6)
})

test('where no destination is full no line is looked at', async () => {
  const { workspaces, claim } = wideLane()
  await claim(1, 0)
  expect(workspaces.filter(({ fullLookAt }) => fullLookAt === 1)).toEqual([])
})

test('a line that gives up its place while lines are searched for is searched for again', async () => {
  const { lines, claim } = narrowLane('a.test', 'b.test', 'c.test', 'd.test', 'e.test')
  await claim(['a.test', 'b.test', 'c.test'])
  const after = lines.askPartial()
  if (!after) return expect.unreachable('it has places for others')
  // Accepted after the search began, and given up before it is answered.
  lines.add(waiting({ count: 1, destination: 'new.test' }))
  await claim(['new.test', 'd.test'], 0.5)
  lines.foundBehind(after, { heads: [], next: null })
  expect(lines.askPartial()).toMatchObject({ workspace_id: 'ws_1', shard: -1 })
})
