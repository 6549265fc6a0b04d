// Fields and settings that were left blank, on the engine: an execution runs as without them.
import { expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, newContact } = await createApiWithEngine()

/** A design whose only node between trigger and exit is this one. */
function around(eventName: string, node: [type: string, data: Record<string, unknown>]) {
  return design({ start: onEvent(eventName), node, end: ['exit', { outcome: 'through' }] }, [
    ['start', 'node'],
    ['node', 'end'],
  ])
}

test.each(['', null])(
  'max_duration_ms %j ends no execution',
  async (max_duration_ms) => {
    const begin = uniqueName('event')
    const made = around(begin, mail('Welcome'))
    await flow({ ...made, settings: { max_duration_ms } })
    const [id = ''] = await post(begin, newContact())
    expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'through' })
  },
  40_000,
)

test('send_event with properties null sends its event without any', async () => {
  const [begin, told] = [uniqueName('event'), uniqueName('told')]
  await flow(around(begin, ['send_event', { event_name: told, properties: null }]))
  const [id = ''] = await post(begin, newContact())
  expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'through' })
  const sent = api.db.selectFrom('automation_events').select('properties')
  expect(await sent.where('event_name', '=', told).execute()).toEqual([{ properties: {} }])
}, 40_000)

test.each(['', null])(
  'unsubscribe with scope %j leaves the workflow',
  async (scope) => {
    const begin = uniqueName('event')
    const target_id = await flow(around(begin, ['unsubscribe', { scope }]))
    const [id = ''] = await post(begin, newContact())
    await engine().ended(id, 'CANCELLED')
    const left = api.db.selectFrom('opt_outs').select('scope').where('target_id', '=', target_id)
    expect(await left.execute()).toEqual([{ scope: 'workflow' }])
  },
  40_000,
)
