// Ids sort by time, within a millisecond and when the clock steps back, and have one form.
import { expect, test } from 'vitest'
import { idPrefixes, isId } from '../../../rules/ids.ts'
import { createNewId } from '../../../runtime/ids.ts'

test('ids of one process sort in the order in which they were made', () => {
  let ms = Date.UTC(2026, 0, 1)
  const newId = createNewId(() => new Date(ms))
  const made: string[] = []
  for (let i = 0; i < 5000; i++) {
    if (i % 7 === 0) ms += 1
    if (i === 2500) ms -= 60_000
    made.push(newId('email'))
  }
  expect([...made].sort()).toEqual(made)
  expect(new Set(made).size).toBe(made.length)
})

test('an id is its prefix and 26 Crockford characters, and is of one kind only', () => {
  const newId = createNewId(() => new Date())
  for (const kind of Object.keys(idPrefixes) as (keyof typeof idPrefixes)[]) {
    const id = newId(kind)
    expect(id).toMatch(/^[a-z]+_[0-9A-HJKMNP-TV-Z]{26}$/)
    expect(isId(kind, id)).toBe(true)
    expect(isId(kind === 'email' ? 'domain' : 'email', id)).toBe(false)
  }
  expect(isId('email', 'em_0000000000000000000000000I')).toBe(false)
  expect(isId('email', "em_' or 1=1")).toBe(false)
})

test('the time part is the clock in ms', () => {
  const early = createNewId(() => new Date(1_000))('email')
  const late = createNewId(() => new Date(2_000))('email')
  expect(early.slice(0, 13) < late.slice(0, 13)).toBe(true)
})
