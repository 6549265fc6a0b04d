// What an automation event starts and what it does not: re-entry, several triggers and workflows, races, times.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limits } from '../../rules/limits.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

let now_ms = Date.now()
const api = await createTestApi({ now: () => new Date(now_ms) })
await insertTestDomain(api, 'sender.test')
const { create, patch } = createWorkflowClient(api)

interface Accepted {
  event_id: string
  timestamp: number
  executions: string[]
  deduplicated: boolean
  /** Of a refusal. */
  code?: string
}

const post = (event_name: string, email: string, more: object = {}) =>
  api.request<Accepted>('POST', '/v1/automation/events', { event_name, email, ...more })
const started = async (event_name: string, email: string, more: object = {}) =>
  (await post(event_name, email, more)).body.executions.length
const contact = async (email: string) =>
  (await api.request('GET', `/v1/automation/contacts/${email}`)).body
const newEmail = () => `${uniqueName('c')}@example.test`

/** Makes an active workflow with these triggers in this order. @returns its id and the event's name */
async function flow(...triggers: object[]) {
  const eventName = uniqueName('begun')
  const given = triggers.length > 0 ? triggers : [{}]
  const nodes = given.map((data, i) => ({
    id: `t${i}`,
    type: 'trigger',
    data: { kind: 'event', event_name: eventName, ...data },
  }))
  const design = {
    nodes: [...nodes, { id: 'end', type: 'exit', data: {} }],
    edges: nodes.map(({ id }) => ({ id: `e-${id}`, source: id, target: 'end' })),
  }
  const { workflow_id } = await create({ status: 'active', design })
  return { id: workflow_id, eventName }
}

const endAll = (email: string) =>
  api.db
    .updateTable('executions')
    .set({ ended_status: 'COMPLETED', completed_at: new Date(now_ms) })
    .where('email', '=', email)
    .execute()

describe('re-entry', () => {
  it('every: each event starts one, whatever still runs', async () => {
    const { eventName } = await flow({ re_entry: { mode: 'every' } })
    const email = newEmail()
    expect([await started(eventName, email), await started(eventName, email)]).toEqual([1, 1])
  })

  it('once: never again, even after the first has ended; other contacts may enter', async () => {
    const { eventName } = await flow({ re_entry: { mode: 'once' } })
    const email = newEmail()
    expect(await started(eventName, email)).toBe(1)
    await endAll(email)
    expect([await started(eventName, email), await started(eventName, newEmail())]).toEqual([0, 1])
  })

  it('after_exit: again when the one before has ended', async () => {
    const { eventName } = await flow({ re_entry: { mode: 'after_exit' } })
    const email = newEmail()
    expect([await started(eventName, email), await started(eventName, email)]).toEqual([1, 0])
    await endAll(email)
    expect(await started(eventName, email)).toBe(1)
  })

  it('interval: again when the time has passed', async () => {
    const { eventName } = await flow({ re_entry: { mode: 'interval', min_interval_ms: 60_000 } })
    const email = newEmail()
    expect(await started(eventName, email)).toBe(1)
    now_ms += 59_999
    expect(await started(eventName, email)).toBe(0)
    now_ms += 60_001
    expect(await started(eventName, email)).toBe(1)
  })

  it('with a key_path: for each value of it', async () => {
    const { eventName } = await flow({ re_entry: { mode: 'once', key_path: 'event.order.id' } })
    const email = newEmail()
    const order = (id: unknown) => ({ properties: { order: { id } } })
    expect(await started(eventName, email, order(1))).toBe(1)
    expect(await started(eventName, email, order(2))).toBe(1)
    expect(await started(eventName, email, order(1))).toBe(0)
    expect(await started(eventName, email, order('1'))).toBe(1)
  })

  it('once holds when many events come at once', async () => {
    const { eventName } = await flow({ re_entry: { mode: 'once' } })
    const email = newEmail()
    const counts = await Promise.all(Array.from({ length: 20 }, () => started(eventName, email)))
    expect(counts.reduce((sum, count) => sum + count)).toBe(1)
    expect(await contact(email)).toMatchObject({ event_count: 20 })
  })
})

describe('triggers', () => {
  it('of one workflow start it once: the first in the design whose filter holds', async () => {
    const big = { type: 'rule', field: 'event.n', operator: 'gt', value: 10 }
    const { eventName } = await flow({ filter: big }, {}, {})
    const nodes: string[] = []
    for (const n of [11, 10]) {
      const { body } = await post(eventName, newEmail(), { properties: { n } })
      expect(body.executions).toHaveLength(1)
      const row = await api.db
        .selectFrom('executions')
        .select('trigger_node_id')
        .where('id', 'in', body.executions)
        .executeTakeFirstOrThrow()
      nodes.push(row.trigger_node_id)
    }
    expect(nodes).toEqual(['t0', 't1'])
  })

  it('of several workflows start each once; paused, draft and archived ones do not', async () => {
    const eventName = uniqueName('shared')
    const made = await Promise.all(
      Array.from({ length: 5 }, () => create({ status: 'active', design: exitDesign(eventName) })),
    )
    const [, , paused, draft, archived] = made.map((one) => one.workflow_id)
    await create({ status: 'draft', design: exitDesign(eventName) })
    expect(await started(eventName, newEmail())).toBe(5)
    await patch(paused ?? '', { status: 'paused' })
    await patch(draft ?? '', { status: 'draft' })
    expect((await api.request('DELETE', `/v1/workflows/${archived}`)).status).toBe(204)
    expect(await started(eventName, newEmail())).toBe(2)
  })

  it('of another workspace are not started', async () => {
    const { eventName } = await flow()
    const { token } = await api.createKey({ workspaceName: uniqueName('other') })
    const event = { event_name: eventName, email: newEmail() }
    const headers = { authorization: `Bearer ${token}` }
    const { body } = await api.request('POST', '/v1/automation/events', event, headers)
    expect(body['executions']).toEqual([])
  })

  it('are started by events of the service: an email to a contact is counted and starts', async () => {
    const email = newEmail()
    await post('seen', email)
    await create({ status: 'active', design: exitDesign('email.sent') })
    const mail = {
      from: 'a@sender.test',
      to: [email, 'stranger@example.test'],
      subject: 'Hi',
      text: 'x',
    }
    const { body } = await api.request('POST', '/v1/emails', mail)
    expect(await contact(email)).toMatchObject({ event_count: 2, last_event: 'email.sent' })
    const { events } = (await api.request('GET', `/v1/automation/contacts/${email}/events`)).body
    expect(events).toMatchObject([
      { event_name: 'email.sent', email, properties: { email_id: body['id'] } },
      { event_name: 'seen' },
    ])
    const executions = await api.db
      .selectFrom('executions')
      .select(['chain_depth'])
      .where('email', '=', email)
      .execute()
    // No execution has sent the email, so the started one begins a chain.
    expect(executions).toEqual([{ chain_depth: 0 }])
    const stranger = await api.request('GET', '/v1/automation/contacts/stranger@example.test')
    expect(stranger.status).toBe(404)
  })
})

describe('the same event_id', () => {
  it('20 times at once, with 20 different bodies, is one event of one contact', async () => {
    const { eventName } = await flow()
    const event_id = uniqueName('same')
    const [email, other] = [newEmail(), newEmail()]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        post(eventName, n % 2 ? email : other, { event_id, contact_properties: { n } }),
      ),
    )
    const taken = answers.filter((answer) => answer.status === 202)
    const refused = answers.filter((answer) => answer.body.code === 'event_id_reused')
    expect([taken.length, refused.length]).toEqual([10, 10])
    const { deduplicated: _, ...first } = taken.find(({ body }) => !body.deduplicated)?.body ?? {}
    expect(first).toMatchObject({ event_id, executions: [expect.any(String)] })
    for (const { body } of taken) expect(body).toMatchObject(first)
    expect(taken.filter(({ body }) => !body.deduplicated)).toHaveLength(1)
    const found = [await contact(email), await contact(other)].filter((body) => body['id'])
    expect(found).toMatchObject([{ event_count: 1, properties: { n: expect.any(Number) } }])
  })

  it('gets the same answer after the execution has ended and the workflow was archived', async () => {
    const { id, eventName } = await flow()
    const email = newEmail()
    const event_id = uniqueName('same')
    const first = await post(eventName, email, { event_id, contact_properties: { a: 1 } })
    await endAll(email)
    await api.request('DELETE', `/v1/workflows/${id}`)
    now_ms += 1_000_000
    const again = await post(eventName, email, { event_id, contact_properties: { a: 2 } })
    expect(again.body).toEqual({ ...first.body, deduplicated: true })
    expect(await contact(email)).toMatchObject({ event_count: 1, properties: { a: 1 } })
  })

  it('is another event in another workspace', async () => {
    const event = { event_name: 'seen', email: newEmail(), event_id: uniqueName('same') }
    const { token } = await api.createKey({ workspaceName: uniqueName('other') })
    const headers = { authorization: `Bearer ${token}` }
    for (const more of [{}, headers]) {
      const { body } = await api.request<Accepted>('POST', '/v1/automation/events', event, more)
      expect(body.deduplicated).toBe(false)
    }
  })
})

describe('times', () => {
  it('may be 24 hours ahead and not a millisecond more', async () => {
    const latest = now_ms + limits.eventAheadMsMax
    expect((await post('seen', newEmail(), { timestamp: latest })).status).toBe(202)
    const email = newEmail()
    const refused = await post('seen', email, { timestamp: latest + 1 })
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await contact(email)).toMatchObject({ code: 'not_found' })
    expect((await post('seen', email, { timestamp: 0 })).body.timestamp).toBe(0)
  })

  it('make first_seen, last_seen and last_event, in whatever order events arrive', async () => {
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 1e12 }), { minLength: 1, maxLength: 8 })
    const property = fc.asyncProperty(times, fc.boolean(), async (given, atOnce) => {
      const email = newEmail()
      const send = (timestamp: number) => post(`at.${timestamp}`, email, { timestamp })
      if (atOnce) await Promise.all(given.map(send))
      else for (const timestamp of given) await send(timestamp)
      const last = Math.max(...given)
      expect(await contact(email)).toMatchObject({
        event_count: given.length,
        first_seen: Math.min(...given),
        last_seen: last,
        last_event: `at.${last}`,
      })
    })
    await fc.assert(property, { numRuns: 40, interruptAfterTimeLimit: 5_000 })
  })
})
