// How far an erasure is, as its row has it: also a row that a worker of the release before has written.
import { expect, test } from 'vitest'
import {
  ALL_TEAM,
  type ErasePlace,
  readPlace,
  writePlace,
} from '../../commands/contacts/erasePlace.ts'

const team = { status: 'FAILED', at: 1_764_000_000_123, execution: 'exe_1', mail: 'em_9' } as const
const tag = { hour: 5, domain_id: 'dom_1', value: 'a/b:c%' }
const place: ErasePlace = { execution: 'exe_2', answer: '0aff', tag, team }

test.each<ErasePlace>([place, { ...place, tag: null, team: null }, { ...place, team: ALL_TEAM }])(
  'what is written is read: %j',
  (one) => {
    expect(readPlace(writePlace(one))).toEqual(one)
  },
)

test('without mail to the team it begins with that', () => {
  expect(readPlace(null)).toEqual({ execution: '', answer: '', tag: null, team: null })
  expect(readPlace('exe_2/0aff/')).toEqual({ ...place, tag: null, team: null })
})
