// What an execution still sends when its contact has left the workflow and only sends are to be skipped.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'

const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

const series = {
  ...design(
    {
      start: onEvent('ordered'),
      first: mail('First'),
      wait: ['wait_for_event', { event_name: 'shipped' }],
      news: mail('News'),
      receipt: mail('Receipt', { category: 'transactional' }),
    },
    [
      ['start', 'first'],
      ['first', 'wait'],
      ['wait', 'news', 'received'],
      ['news', 'receipt'],
    ],
  ),
  settings: { on_unsubscribe: 'skip_sends' },
}

test('skip_sends skips marketing mail; transactional mail is still sent', async () => {
  const { id, email } = await engine.run(series)
  await engine.waiting(id, 'wait')
  const sent = database.db.selectFrom('emails').select('unsubscribe_token')
  const first = await sent.where('execution_id', '=', id).executeTakeFirstOrThrow()
  const addressMac = await addressMacOf(database.db)
  const deps = { db: database.db, now, newId, addressMac, wake: () => undefined }
  expect(await takeUnsubscribe(deps, first.unsubscribe_token ?? '')).toBe(true)

  await engine.post('shipped', email)
  await engine.ended(id, 'COMPLETED')
  expect(await engine.subjects(id)).toEqual(['First', 'Receipt'])
  const steps = await database.db
    .selectFrom('execution_steps')
    .select(['node_id', 'handle', 'why'])
    .where('execution_id', '=', id)
    .where('type', '=', 'send_email')
    .orderBy('seq')
    .execute()
  expect(steps).toEqual([
    { node_id: 'first', handle: 'default', why: null },
    { node_id: 'news', handle: 'default', why: 'unsubscribed' },
    { node_id: 'receipt', handle: 'default', why: null },
  ])
})
