// Few events of one contact are in Postgres at once; the others wait without a connection, and leave when their client has.
import { expect, test } from 'vitest'
import { createContactTurns } from '../../../api/events/contactTurns.ts'
import { inScope } from '../../../db/scope.ts'
import { ClientGone, NoPlace } from '../../../db/shares.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const [a, b] = ['ws_a', 'ws_b'] as [WorkspaceId, WorkspaceId]
const HELD = 'held@example.test'

/** Work that goes on until it is let go. */
function createWork() {
  const running: (() => void)[] = []
  return {
    running,
    work: () => new Promise<void>((resolve) => running.push(resolve)),
  }
}

test('two of one contact at once, the next ones in their order; other contacts and workspaces do not wait', async () => {
  const inTurn = createContactTurns()
  const { running, work } = createWork()
  const ended: number[] = []
  const held = [1, 2, 3, 4].map((n) => inTurn(a, HELD, work).then(() => ended.push(n)))
  expect(running).toHaveLength(2)
  const others = [inTurn(a, 'free@example.test', work), inTurn(b, HELD, work)]
  expect(running).toHaveLength(4)
  for (const letGo of running.splice(2)) letGo()
  await Promise.all(others)
  while (ended.length < 4) {
    running.shift()?.()
    await Promise.race(held.slice(ended.length))
  }
  await Promise.all(held)
  expect(ended).toEqual([1, 2, 3, 4])
})

test('a failure gives the turn to the next one', async () => {
  const inTurn = createContactTurns()
  const failing = () => Promise.reject(new Error('refused'))
  const all = await Promise.allSettled([1, 2, 3, 4].map(() => inTurn(a, HELD, failing)))
  expect(all.map((one) => one.status)).toEqual(Array(4).fill('rejected'))
  expect(await inTurn(a, HELD, async () => 'done')).toBe('done')
})

test('who waits too long, or whose client goes away, leaves the line', async () => {
  const inTurn = createContactTurns(20)
  const { running, work } = createWork()
  const held = [inTurn(a, HELD, work), inTurn(a, HELD, work)]
  await expect(inTurn(a, HELD, work)).rejects.toThrow(NoPlace)
  const gone = new AbortController()
  const scope = { owner: { kind: 'workspace', workspaceId: a }, signal: gone.signal } as const
  const left = inScope(scope, () => inTurn(a, HELD, work))
  gone.abort()
  await expect(left).rejects.toThrow(ClientGone)
  expect(running).toHaveLength(2)
  for (const letGo of running) letGo()
  await Promise.all(held)
  expect(await inTurn(a, HELD, async () => 'done')).toBe('done')
})
