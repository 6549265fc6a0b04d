// The shares of the pool: bounds of each owner, turns, and what random takers, givers and leavers can do to them.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Owner } from '../../../db/scope.ts'
import { ClientGone, createShares, NoPlace } from '../../../db/shares.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const ofWorkspace = (name: string): Owner => ({
  kind: 'workspace',
  workspaceId: name as WorkspaceId,
})
const ofProcess: Owner = { kind: 'process' }
const anonymous: Owner = { kind: 'anonymous' }
const patient = { waitMs: 600_000, lineMax: 1_000 }

/** Takes for one owner until it has to wait. @returns how many it got, and how to let all of them go */
function fill(shares: ReturnType<typeof createShares>, owner: Owner) {
  const gone = new AbortController()
  const got: (() => void)[] = []
  const all = (async () => {
    for (;;) got.push(await shares.take(owner, gone.signal))
  })()
  return {
    got,
    async end() {
      gone.abort()
      await expect(all).rejects.toThrow(ClientGone)
      for (const giveBack of got) giveBack()
    },
  }
}

/** Lets everything run that waits for nothing but promises. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

it.each([
  [2, 1],
  [3, 1],
  [4, 2],
  [10, 5],
  [20, 10],
  [21, 11],
])(
  'of %i places one workspace gets %i, and any number leaves one of each kind to the others',
  async (size, most) => {
    const shares = createShares(size, patient)
    const first = fill(shares, ofWorkspace('a'))
    await settled()
    expect(first.got).toHaveLength(most)

    const many = Array.from({ length: 2 * size }, (_, i) => fill(shares, ofWorkspace(`w${i}`)))
    await settled()
    const giveBack = await shares.take(ofProcess, null)
    if (size > 2) (await shares.take(anonymous, null))()
    giveBack()
    for (const taker of [first, ...many]) await taker.end()
    expect(shares.counts()).toEqual({ taken: 0, waiting: 0, owners: 0 })
  },
)

it('lets neither public routes nor look-ups of keys take what keyed requests need', async () => {
  const shares = createShares(10, patient)
  const flood = [fill(shares, anonymous), fill(shares, ofProcess)]
  await settled()
  const giveBack = await shares.take(ofWorkspace('a'), null)
  giveBack()
  for (const taker of flood) await taker.end()
})

it('gives places that become free to owners in turn, not to who came first', async () => {
  const shares = createShares(4, patient)
  const one = await shares.take(ofWorkspace('a'), null)
  const two = await shares.take(ofWorkspace('b'), null)
  const order: string[] = []
  const waits = ['a1', 'a2', 'a3', 'b1', 'c1'].map(async (name) => {
    const giveBack = await shares.take(ofWorkspace(name.slice(0, 1)), null)
    order.push(name)
    await settled()
    giveBack()
  })
  await settled()
  one()
  two()
  await Promise.all(waits)
  expect(order.indexOf('b1')).toBeLessThan(order.indexOf('a2'))
  expect(order.indexOf('c1')).toBeLessThan(order.indexOf('a2'))
})

it('refuses who waits too long, and whose line is too long', async () => {
  const shares = createShares(2, { waitMs: 20, lineMax: 1 })
  const giveBack = await shares.take(ofWorkspace('a'), null)
  const waiting = shares.take(ofWorkspace('a'), null)
  await expect(shares.take(ofWorkspace('a'), null)).rejects.toThrow(NoPlace)
  await expect(waiting).rejects.toThrow(NoPlace)
  giveBack()
  expect(shares.counts()).toEqual({ taken: 0, waiting: 0, owners: 0 })
})

it('keeps its bounds, loses no place and lets everybody through, whoever takes, gives back and leaves', async () => {
  const owners: Owner[] = [
    ofWorkspace('a'),
    ofWorkspace('b'),
    ofWorkspace('c'),
    ofProcess,
    anonymous,
  ]
  const step = fc.record({
    what: fc.constantFrom('take', 'take', 'take', 'give', 'leave'),
    owner: fc.nat(owners.length - 1),
    pick: fc.nat(1_000),
  })
  const property = fc.asyncProperty(
    fc.integer({ min: 2, max: 12 }),
    fc.array(step, { maxLength: 80 }),
    async (size, steps) => {
      const shares = createShares(size, patient)
      const held: { owner: number; giveBack: () => void }[] = []
      const asked: { gone: AbortController; done: Promise<void> }[] = []
      const inside = (owner: number) => held.filter((one) => one.owner === owner).length
      const check = () => {
        expect(held.length).toBeLessThanOrEqual(size)
        expect(shares.counts().taken).toBe(held.length)
        for (let owner = 0; owner < owners.length; owner++) {
          expect(inside(owner)).toBeLessThanOrEqual(Math.max(1, Math.ceil(size / 2)))
          expect(inside(owner)).toBeLessThan(Math.max(2, size))
        }
      }
      for (const { what, owner, pick } of steps) {
        if (what === 'take') {
          const gone = new AbortController()
          const done = shares.take(owners[owner] ?? ofProcess, gone.signal).then(
            (giveBack) => void held.push({ owner, giveBack }),
            (err) => expect(err).toBeInstanceOf(ClientGone),
          )
          asked.push({ gone, done })
        } else if (what === 'give') held.splice(pick % (held.length || 1), 1)[0]?.giveBack()
        else asked[pick % (asked.length || 1)]?.gone.abort()
        await settled()
        check()
      }
      // Whoever still waits gets in when those inside go, one after the other.
      while (held.length > 0) {
        held.shift()?.giveBack()
        await settled()
        check()
      }
      await Promise.all(asked.map(({ done }) => done))
      expect(shares.counts()).toEqual({ taken: 0, waiting: 0, owners: 0 })
    },
  )
  await fc.assert(property, { numRuns: 200 })
})
