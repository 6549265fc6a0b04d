// What `npm run recover` prints.
import { expect, test } from 'vitest'
import { type Lost, lostLines } from '../../../operate/recoverTable.ts'

const at = { namespace: 'default', address: '127.0.0.1:7233' }
const none = { started: 0, closed: 0, failed: 0 }
const shown: Lost[] = [
  { what: 'execution', id: 'exe_1', workspace_id: 'ws_1', segment: 3, fate: 'started' },
  { what: 'execution', id: 'exe_2', workspace_id: 'ws_1', segment: null, fate: 'started' },
  { what: 'execution', id: 'exe_3', workspace_id: 'ws_1', segment: 0, fate: 'ended' },
  { what: 'domain', id: 'dom_1', workspace_id: 'ws_1', segment: null, fate: 'started' },
]

test('nothing is missing', () => {
  expect(lostLines({ shown: [], counts: none, isApplied: false, ...at })).toEqual([
    'Nothing that lives in Postgres is missing in the namespace "default" of 127.0.0.1:7233.',
  ])
})

test('what would be done, and how to do it', () => {
  const counts = { started: 7, closed: 2, failed: 0 }
  expect(lostLines({ shown, counts, isApplied: false, ...at })).toEqual([
    'what       id     workspace  goes on',
    'execution  exe_1  ws_1       after segment 3',
    'execution  exe_2  ws_1       at its beginning',
    'execution  exe_3  ws_1       no more: ended in Temporal',
    'domain     dom_1  ws_1       with a check',
    'and more: the first 4 are shown',
    '7 that are missing in the namespace "default" of 127.0.0.1:7233: would be started again where Postgres has them.',
    '2 executions whose run has ended: would be closed.',
    'Nothing was changed. npm run recover -- --apply does it.',
  ])
})

test('what was done, and what was not', () => {
  const counts = { started: 1, closed: 0, failed: 1 }
  expect(lostLines({ shown: shown.slice(0, 1), counts, isApplied: true, ...at })).toEqual([
    'what       id     workspace  goes on',
    'execution  exe_1  ws_1       after segment 3',
    '1 that are missing in the namespace "default" of 127.0.0.1:7233: started again where Postgres has them.',
    '1 could not be changed: say it again.',
    'The starts are in the outbox: npm run outbox shows what of it waits.',
  ])
})
