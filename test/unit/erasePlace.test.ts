// How far an erasure is, as its row has it: also a row that a worker of the release before has written.
import { expect, test } from 'vitest'
import { ALL, type ErasePlace, readPlace, writePlace } from '../../commands/contacts/erasePlace.ts'
import { createSecrets } from '../../runtime/secrets.ts'

const deps = { secrets: createSecrets(Buffer.alloc(32, 7)) }
const team = { status: 'FAILED', at: 1_764_000_000_123, execution: 'exe_1', mail: 'em_9' } as const
const tag = { hour: 5, domain_id: 'dom_1', value: 'a/b:c%' }
const execution = { status: 'COMPLETED', at: 1_764_000_000_009, id: 'exe_2' } as const
const place: ErasePlace = { execution, answer: '0aff', tag, team, naming: 'em_3' }

test.each<ErasePlace>([
  place,
  { ...place, execution: null, tag: null, team: null, naming: '' },
  { ...place, execution: ALL, team: ALL, naming: ALL },
])('what is written is read: %j', (one) => {
  expect(readPlace(deps, writePlace(deps, one))).toEqual(one)
})

test('without executions, mail to the team and mail that names them it begins with these', () => {
  const none = { execution: null, tag: null, team: null, naming: '' }
  expect(readPlace(deps, null)).toEqual({ ...none, answer: '' })
  expect(readPlace(deps, 'exe_2/0aff/')).toEqual({ ...none, answer: '0aff' })
})

test('a tag stands there encrypted; with another SECRET_KEY its walk begins anew', () => {
  const written = writePlace(deps, place)
  expect(decodeURIComponent(written)).not.toContain(tag.value)
  const other = { secrets: createSecrets(Buffer.alloc(32, 8)) }
  expect(readPlace(other, written)).toEqual({ ...place, tag: null })
})
