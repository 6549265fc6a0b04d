// Lines of which nothing is in the memory of a lane: when they are read, and whose turn it is then.
import { expect, test } from 'vitest'
import type { Line } from '../../../delivery/lane/line.ts'
import { Lines } from '../../../delivery/lane/lines.ts'
import { pickForClaim } from '../../../delivery/lane/picking.ts'
import { anyRoom, waiting } from '../../setup/waitingMail.ts'

const unasked = async () => expect.unreachable('a claim that is full waits for no read')

test('a line that has to be read has its turn in the next claim, also where others fill this one', async () => {
  const lines = new Lines()
  lines.add(waiting({ count: 150, destination: 'a.test' }))
  const [head, ...rest] = waiting({ count: 3, destination: 'b.test' })
  lines.found(head ? [head] : [])
  const readMore = async (unread: readonly Line[]) => {
    const asked = lines.ask(unread)
    expect(asked.map(({ destination }) => destination)).toEqual(['b.test'])
    lines.learnRead(asked, [rest], 9)
  }
  const claim = async () => {
    const { rows, ahead } = await pickForClaim(lines, unasked, { limit: 4, rooms: anyRoom, now: 1 })
    if (ahead.length > 0) await readMore(ahead)
    return rows.map(({ destination }) => destination[0]).join('')
  }
  expect(await claim()).toBe('abaa')
  expect(await claim()).toBe('baba')
})

test('lines of which nothing is here are passed by one claim, and not by those behind it', async () => {
  const lines = new Lines({ lines: 9_999, share: [9_999, 1], rows: 40, lineRows: [9, 4] })
  // The memory is full of the first lines.
  for (let n = 0; n < 3_000; n++) lines.add(waiting({ count: 1, destination: `d${n}.test` }))
  const workspace = lines.classes[0]?.get('ws_1')
  let looks = 0
  for (const line of workspace?.lines.values() ?? []) {
    const { rows } = line
    // Counts how often a claim looks at lines that were there before.
    const look = () => {
      looks += 1
      return rows
    }
    Object.defineProperty(line, 'rows', { get: look })
  }
  const claim = async () => {
    looks = 0
    const { rows } = await pickForClaim(lines, async () => undefined, {
      limit: 19,
      rooms: anyRoom,
      now: 1,
    })
    return rows.length
  }
  expect([await claim(), await claim(), await claim()]).toEqual([19, 19, 2])
  expect(looks).toBeGreaterThan(2_900)
  lines.add(waiting({ count: 5, destination: 'new.test' }))
  expect(await claim()).toBe(5)
  expect(looks).toBe(0)
})

test('a line that was read after its turn came is first, and those that wait for that keep their order', async () => {
  const lines = new Lines()
  const mail = ['a.test', 'b.test', 'c.test', 'd.test'].map((destination) =>
    waiting({ count: 3, destination }),
  )
  for (const [head] of mail) lines.found(head ? [head] : [])
  const claim = async (limit: number) => {
    const { rows, ahead } = await pickForClaim(lines, unasked, { limit, rooms: anyRoom, now: 1 })
    return { of: rows.map(({ destination }) => destination[0]).join(''), ahead }
  }
  expect((await claim(4)).of).toBe('abcd')
  lines.add(waiting({ count: 9, destination: 'e.test' }))
  const { of, ahead } = await claim(2)
  expect([of, ahead.map(({ destination }) => destination[0]).join('')]).toEqual(['ee', 'abcd'])
  // Two of them are read before the next claim.
  lines.learnRead(
    lines.ask(ahead.slice(1, 3)),
    mail.slice(1, 3).map((rows) => rows.slice(1)),
    9,
  )
  const next = await claim(5)
  expect([next.of, next.ahead.map(({ destination }) => destination[0]).join('')]).toEqual([
    'bcebc',
    'ad',
  ])
})
