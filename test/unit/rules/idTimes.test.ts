// The first id of a time: every id made then or later sorts behind it, every earlier one before it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstIdAt, isId } from '../../../rules/ids.ts'
import { createNewId } from '../../../runtime/ids.ts'

test('it parts the ids of before from those of then and later', () => {
  const times = fc.integer({ min: 1, max: 2 ** 47 })
  fc.assert(
    fc.property(times, times, (made, asked) => {
      const id = createNewId(() => new Date(made))('email')
      const first = firstIdAt('email', asked)
      expect(isId('email', first)).toBe(true)
      expect(id >= first).toBe(made >= asked)
    }),
  )
})

test('a time that no id has stands at the end of its side', () => {
  expect(firstIdAt('email', -60_000)).toBe(`em_${'0'.repeat(26)}`)
  expect(firstIdAt('email', 2 ** 60)).toBe(firstIdAt('email', 2 ** 48 - 1))
})
