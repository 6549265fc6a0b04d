// How far an erasure is, as its row has it: also a row that a worker of the release before has written.
import { expect, test } from 'vitest'
import { ALL, type ErasePlace, readPlace, writePlace } from '../../commands/contacts/erasePlace.ts'

const team = { status: 'FAILED', at: 1_764_000_000_123, execution: 'exe_1', mail: 'em_9' } as const
const tag = { hour: 5, domain_id: 'dom_1', value: 'a/b:c%' }
const execution = { status: 'COMPLETED', at: 1_764_000_000_009, id: 'exe_2' } as const
const place: ErasePlace = { execution, answer: '0aff', tag, team }

test.each<ErasePlace>([
  place,
  { ...place, execution: null, tag: null, team: null },
  { ...place, execution: ALL, team: ALL },
])('what is written is read: %j', (one) => {
  expect(readPlace(writePlace(one))).toEqual(one)
})

test('without executions and mail to the team it begins with these', () => {
  expect(readPlace(null)).toEqual({ execution: null, answer: '', tag: null, team: null })
  const left = { ...place, execution: null, tag: null, team: null }
  expect(readPlace('exe_2/0aff/')).toEqual(left)
})
