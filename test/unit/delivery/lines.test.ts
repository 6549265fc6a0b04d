// What a lane remembers of its lines: whatever is told, read late or searched, each delivery is taken once and none is forgotten.
// Long because the queue is modelled here, as Postgres has it and as a lane is told of it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { InLine, LineKey, LinePlace } from '../../../db/deliveries/lines.ts'
import type { Line } from '../../../delivery/lane/line.ts'
import { Lines } from '../../../delivery/lane/lines.ts'
import { pickForClaim } from '../../../delivery/lane/picking.ts'

/** Where some destinations have no room. */
const roomsBut = (full: readonly string[]) => ({
  known: new Map(full.map((one) => [one, 0])),
  other: Number.POSITIVE_INFINITY,
})
const tight = { lines: 6, share: [3, 1], rows: 8, lineRows: [3, 2] } as const

const order = (a: InLine, b: InLine) =>
  a.class - b.class ||
  (a.workspace_id < b.workspace_id ? -1 : a.workspace_id > b.workspace_id ? 1 : 0) ||
  a.shard - b.shard ||
  (a.destination < b.destination ? -1 : a.destination > b.destination ? 1 : 0) ||
  a.at - b.at ||
  a.id - b.id

const lineOf = (one: LineKey) => `${one.class} ${one.workspace_id} ${one.shard} ${one.destination}`
const isBehind = (row: InLine, { at, id }: LinePlace) =>
  row.at > at || (row.at === at && row.id > id)

/** Deliveries as Postgres has them, and a lane that knows of them what it is told and what it reads. */
function createQueue() {
  const stored = new Map<number, InLine>()
  const taken: number[] = []
  const lines = new Lines(tight)
  let lastId = 0
  let now = 0
  /** What happens between a statement and the moment at which the lane learns what it has found. */
  const between: (() => void)[] = []
  const happen = () => {
    for (const one of between.splice(0)) one()
  }
  const sorted = () => [...stored.values()].sort(order)

  /** @returns has the lane learn what was read */
  const readSlowly = (unread: readonly Line[]): (() => void) => {
    const each = lines.rowsPerRead()
    const asked = lines.ask(unread)
    const found = asked.map((from) =>
      sorted()
        .filter((row) => lineOf(row) === lineOf(from) && isBehind(row, from.unread))
        .slice(0, each),
    )
    return () => lines.learnRead(asked, found, each)
  }
  const readMore = async (unread: readonly Line[]) => {
    const learn = readSlowly(unread)
    happen()
    learn()
  }
  const headsBehind = (after?: LineKey) => {
    const heads = new Map<string, InLine>()
    for (const row of sorted()) {
      if (after && order(row, { ...after, at: Infinity, id: 0 }) <= 0) continue
      if (!heads.has(lineOf(row))) heads.set(lineOf(row), row)
    }
    return [...heads.values()]
  }
  /** One is accepted, which the lane's look for it finds slowly. @returns has the lane learn of it */
  const acceptSlowly = (key: LineKey, at: number): (() => void) => {
    lastId += 1
    const row = { ...key, at, id: lastId }
    stored.set(lastId, row)
    return () => lines.arrived([row])
  }
  return {
    stored,
    taken,
    between,
    accept: (key: LineKey, at: number): void => acceptSlowly(key, at)(),
    acceptSlowly,
    /** One is made ready whose destination was learned since. */
    move(nth: number, key: Pick<LineKey, 'shard' | 'destination'>): void {
      const before = [...stored.values()][nth % Math.max(1, stored.size)]
      if (!before) return
      const row = { ...before, ...key }
      stored.set(row.id, row)
      lines.add([row])
    },
    /** How many lines it remembers. */
    remembered: () =>
      lines.classes.flatMap((all) => [...all.values()]).flatMap((one) => [...one.lines.values()])
        .length,
    /** Somebody else settles one. */
    vanish(nth: number): void {
      const id = [...stored.keys()][nth % Math.max(1, stored.size)]
      if (id !== undefined) stored.delete(id)
    },
    /** Reads a line again from a place on. */
    async readAgain(from: InLine): Promise<void> {
      lines.reread([from])
      const [line] = lines.classes[from.class]?.get(from.workspace_id)?.lines.values() ?? []
      if (line) await readMore([line])
    },
    search(): void {
      const heads = headsBehind()
      happen()
      lines.found(heads)
    },
    /** @returns whether there was something to do */
    async claim(limit: number, full: readonly string[] = []): Promise<boolean> {
      now += 1_000
      const after = lines.askPartial()
      if (after) lines.foundBehind(after, { heads: headsBehind(after), next: null })
      const { rows, more, ahead } = await pickForClaim(lines, readMore, {
        limit,
        rooms: roomsBut(full),
        now,
      })
      const learn = readSlowly(ahead)
      happen()
      for (const row of rows) {
        if (stored.delete(row.id)) taken.push(row.id)
        else lines.reread([row])
      }
      learn()
      return rows.length > 0 || more || after !== undefined || lines.hasPartial()
    },
  }
}

const key = fc.record({
  class: fc.integer({ min: 0, max: 2 }),
  workspace_id: fc.constantFrom('ws_a', 'ws_b'),
  shard: fc.constantFrom(3, 5),
  destination: fc.constantFrom('a.test', 'b.test', 'c.test'),
})
const place = fc.record({
  shard: fc.constantFrom(3, 5),
  destination: fc.constantFrom('a.test', 'd.test'),
})
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ accept: key, at: fc.integer({ min: 0, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ acceptSlowly: key, at: fc.integer({ min: 0, max: 5 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      claim: fc.integer({ min: 1, max: 5 }),
      full: fc.subarray(['a.test', 'b.test', 'c.test']),
    }),
  },
  { weight: 1, arbitrary: fc.record({ move: fc.nat(50), to: place }) },
  { weight: 1, arbitrary: fc.record({ vanish: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ search: fc.constant(true) }) },
)

test('each delivery is taken once, and none is forgotten', async () => {
  const steps = fc.array(fc.tuple(step, fc.boolean()), { minLength: 5, maxLength: 120 })
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const queue = createQueue()
      for (const [one, isLate] of all) {
        if ('claim' in one) await queue.claim(one.claim, one.full)
        else if ('search' in one) queue.search()
        else if ('acceptSlowly' in one)
          queue.between.push(queue.acceptSlowly(one.acceptSlowly, one.at))
        else {
          const work =
            'accept' in one
              ? () => queue.accept(one.accept, one.at)
              : 'move' in one
                ? () => queue.move(one.move, one.to)
                : () => queue.vanish(one.vanish)
          if (isLate) queue.between.push(work)
          else work()
        }
      }
      for (const late of queue.between.splice(0)) late()
      let claims = 0
      while (await queue.claim(4)) {
        claims += 1
        if (claims > 500) break
      }
      expect([...queue.stored.values()], 'forgotten').toEqual([])
      expect(new Set(queue.taken).size, 'taken twice').toBe(queue.taken.length)
      expect(queue.remembered(), 'empty lines').toBe(0)
    }),
    { numRuns: 500 },
  )
})

test('lines whose mail has moved to a destination that they share leave their places to others', async () => {
  const queue = createQueue()
  const at = (destination: string) => ({ class: 0, workspace_id: 'ws_a', shard: 3, destination })
  queue.accept(at('a.test'), 0)
  queue.accept(at('b.test'), 0)
  queue.move(0, at('provider'))
  queue.move(1, at('provider'))
  expect(queue.remembered()).toBe(1)
  queue.accept(at('c.test'), 0)
  queue.accept(at('d.test'), 0)
  await queue.claim(4)
  expect(queue.taken).toEqual([1, 3, 4, 2])
})

test('what has moved to another line while a look for arrivals found it where it was is not forgotten', async () => {
  const queue = createQueue()
  const at = (destination: string) => ({ class: 0, workspace_id: 'ws_a', shard: 3, destination })
  queue.accept(at('a.test'), 0)
  const learn = queue.acceptSlowly(at('a.test'), 1)
  // It stands before the other one for the lane alone.
  queue.vanish(0)
  queue.move(0, at('provider'))
  learn()
  while (await queue.claim(1));
  expect(queue.taken).toEqual([2])
})

test.each(['a search', 'a read'])(
  'what has moved to another line while %s found it where it was is not forgotten',
  async (by) => {
    const queue = createQueue()
    const at = (destination: string) => ({ class: 0, workspace_id: 'ws_a', shard: 3, destination })
    queue.accept(at('a.test'), 1)
    queue.accept(at('a.test'), 0)
    // It stands before the other one for the lane alone.
    queue.vanish(1)
    queue.between.push(() => queue.move(0, at('provider')))
    if (by === 'a search') queue.search()
    else await queue.readAgain({ ...at('a.test'), at: 1, id: 1 })
    while (await queue.claim(1));
    expect(queue.taken).toEqual([1])
  },
)

test('what is told while a line is read is not lost, although the read has not seen it', async () => {
  const line = { class: 0, workspace_id: 'ws_a', shard: 3, destination: 'a.test' }
  const lines = new Lines()
  lines.found([{ ...line, at: 5, id: 1 }])
  const known = lines.classes[0]?.get('ws_a')?.lines.values().next().value
  if (!known) throw new Error('the line is not there')
  const asked = lines.ask([known])
  lines.add([{ ...line, at: 7, id: 2 }])
  lines.learnRead(asked, [[{ at: 9, id: 3 }]], 9)
  // It stood where the answer lacks it: from there on all is read again.
  expect(known).toMatchObject({ rows: [{ id: 1 }], unread: { at: 7, id: 1 } })
  const again = lines.ask([known])
  lines.learnRead(
    again,
    [
      [
        { at: 7, id: 2 },
        { at: 9, id: 3 },
      ],
    ],
    9,
  )
  expect(known).toMatchObject({ rows: [{ id: 1 }, { id: 2 }, { id: 3 }], unread: null })
})

test('a long line is remembered to a bound, and read on from there', () => {
  const line = { class: 0, workspace_id: 'ws_a', shard: 3, destination: 'a.test' }
  const lines = new Lines()
  lines.add(Array.from({ length: 5_000 }, (_, i) => ({ ...line, at: 5, id: i + 1 })))
  const known = lines.classes[0]?.get('ws_a')?.lines.values().next().value
  expect(known?.rows).toHaveLength(200)
  expect(known?.unread).toEqual({ at: 5, id: 200 })
  // Many lines share what may be remembered in all.
  for (let n = 0; n < 300; n++) {
    lines.add(
      Array.from({ length: 150 }, (_, i) => ({
        ...line,
        destination: `d${n}.test`,
        at: 5,
        id: 10_000 + n * 150 + i,
      })),
    )
  }
  const all = [...(lines.classes[0]?.get('ws_a')?.lines.values() ?? [])]
  expect(all.reduce((sum, { rows }) => sum + rows.length, 0)).toBe(20_000)
  expect(all.every(({ rows, unread }) => unread !== null || rows.length === 150)).toBe(true)
})
