// Short pieces of work are spread over turns of the event loop, in their order.
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFewInATurn } from '../../../runtime/fewInATurn.ts'

test('a few go in each turn, in their order, and whoever comes alone does not wait', async () => {
  const mayGo = createFewInATurn(2)
  const gone: number[] = []
  const go = (i: number) => {
    const wait = mayGo()
    if (wait) void wait.then(() => gone.push(i))
    else gone.push(i)
  }
  for (let i = 0; i < 5; i++) go(i)
  expect(gone).toEqual([0, 1])
  await turn()
  expect(gone).toEqual([0, 1, 2, 3])
  go(5)
  expect(gone, 'this turn is full').toEqual([0, 1, 2, 3])
  await turn()
  expect(gone).toEqual([0, 1, 2, 3, 4, 5])
  await turn()
  await turn()
  go(6)
  expect(gone.at(-1)).toBe(6)
})
