// Events that tell of the past: they are stored and counted, and start and wake nothing.
import { describe, expect, test } from 'vitest'
import { limits } from '../../rules/limits.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()

/** Posts an event that tells of the past. @returns ids of the executions that it started */
async function postPast(event_name: string, email: string, more: object): Promise<string[]> {
  const body = { event_name, email, ...more }
  const path = '/v1/automation/events'
  const answer = await api.request<{ executions: string[] }>('POST', path, body)
  expect(answer.status).toBe(202)
  engine().wake()
  return answer.body.executions
}

/** What makes an event tell of the past. */
const pasts = [
  ['historical: true', () => ({ historical: true })],
  ['a timestamp of long ago', () => ({ timestamp: Date.now() - limits.eventBehindMsMax - 60_000 })],
] as const

/** Starts an execution that waits. */
async function waiting(made: (eventName: string) => TestDesign) {
  const eventName = uniqueName('began')
  await flow(made(eventName))
  const email = newContact()
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'wait')
  return { id, email, eventName }
}

const isTrue = (field: string) => ({ type: 'rule', field, operator: 'is_true' })

describe.each(pasts)('an event with %s', (_name, past) => {
  test('ends no wait for it, which the next one ends', async () => {
    const { id, email } = await waiting((eventName) =>
      design(
        {
          start: onEvent(eventName),
          wait: ['wait_for_event', { event_name: 'past.paid' }],
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'end', 'received'],
        ],
      ),
    )
    await postPast('past.paid', email, { ...past(), properties: { n: 1 } })
    expect(await stepLines(id)).toEqual([expect.stringMatching(/^start /), 'wait -'])
    await post('past.paid', email, { n: 2 })
    await engine().ended(id, 'COMPLETED')
  })

  test('reaches no goal, is no exit, and ends no wait for a condition until something else is looked at', async () => {
    const { id, email } = await waiting((eventName) => ({
      ...design(
        {
          start: onEvent(eventName),
          wait: ['wait_for_condition', { condition: isTrue('properties.met') }],
          late: mail('Late'),
          bought: ['goal', { event_name: 'past.bought' }],
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'late', 'met'],
          ['late', 'end'],
          ['bought', 'end'],
        ],
      ),
      settings: { exit_conditions: [isTrue('properties.closed')] },
    }))
    await postPast('past.bought', email, past())
    await postPast('past.other', email, { ...past(), contact_properties: { met: true } })
    await postPast('past.other', email, { ...past(), contact_properties: { closed: true } })
    const { ended_by, consumed_by } = await api.db
      .selectFrom('event_waits')
      .select(['ended_by', 'consumed_by'])
      .where('execution_id', '=', id)
      .executeTakeFirstOrThrow()
    expect([ended_by, consumed_by]).toEqual([null, null])
    // The properties were merged, so the next look finds them; the goal is not reached by what came before.
    await patch(email, { closed: false })
    await engine().ended(id, 'COMPLETED')
    const lines = await stepLines(id)
    expect(lines.slice(1)).toEqual(['wait met', 'late default', 'end -'])
  })

  test('starts nothing: by its name, by the contact that it makes, by what it changes', async () => {
    const eventName = uniqueName('past')
    const path = uniqueName('p').replaceAll('-', '_')
    const filter = { type: 'rule', field: `properties.${path}`, operator: 'exists' }
    const triggers: Record<string, unknown>[] = [
      { kind: 'event', event_name: eventName },
      { kind: 'contact_created', filter },
      { kind: 'property_changed', path },
    ]
    for (const data of triggers) {
      await flow(design({ start: ['trigger', data], end: ['exit', {}] }, [['start', 'end']]))
    }
    const email = newContact()
    const contact_properties = { [path]: 1 }
    expect(await postPast(eventName, email, { ...past(), contact_properties })).toEqual([])
    expect(await postPast(eventName, newContact(), { contact_properties })).toHaveLength(3)
  })

  test('is counted by conditions, shown, and found by a look-back', async () => {
    const counted = uniqueName('counted')
    const began = uniqueName('began')
    await flow(
      design(
        {
          start: [
            'trigger',
            {
              kind: 'event',
              event_name: began,
              filter: { type: 'event_count', event_name: counted, operator: 'eq', value: 2 },
            },
          ],
          wait: ['wait_for_event', { event_name: counted, lookback_ms: 90 * 24 * 3_600_000 }],
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'end', 'received'],
        ],
      ),
    )
    const email = newContact()
    await postPast(counted, email, past())
    expect(await post(began, email)).toEqual([])
    await postPast(counted, email, past())
    const [id = ''] = await post(began, email)
    await engine().ended(id, 'COMPLETED')
    expect((await stepLines(id))[1]).toBe('wait received came before the wait')
    const shown = await api.request('GET', `/v1/automation/contacts/${email}`)
    expect(shown.body).toMatchObject({ event_count: 4 })
  })
})
