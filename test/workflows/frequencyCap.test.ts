// How often a contact gets marketing mail: what is one too many waits for its moment or is skipped, whoever sent the others.
import { expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { testBundle } from '../setup/engine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { fire } from '../setup/handTimers.ts'
import { uniqueName } from '../setup/unique.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const workflowBundle = await testBundle('handTimers')
const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine({
  workflowBundle,
})

const isTrue = (field: string) => ({ type: 'rule', field, operator: 'is_true' })
const transactional = { category: 'transactional' }

/** Makes a workflow that sends one mail. @returns the name of its event */
async function mailing(settings: object, data: object = {}): Promise<string> {
  const eventName = uniqueName('event')
  const graph = design(
    {
      start: onEvent(eventName),
      hello: mail(eventName, { ...data }),
      sent: ['exit', { outcome: 'sent' }],
      late: ['exit', { outcome: 'skipped' }],
      bought: ['goal', { condition: isTrue('properties.bought') }],
      thanked: ['exit', { outcome: 'thanked' }],
    },
    [
      ['start', 'hello'],
      ['hello', 'sent'],
      ['hello', 'late', 'skipped'],
      ['bought', 'thanked'],
    ],
  )
  await flow({ ...graph, settings })
  return eventName
}

const cap = (on_hit: 'wait' | 'skip', count = 1) => ({
  frequency_cap: { count, per_ms: DAY_MS, on_hit },
})
const free = await mailing({})
const receipt = await mailing({}, transactional)
const patient = await mailing(cap('wait'))
const strict = await mailing(cap('skip'))

/** Posts an event and waits until its execution has ended. */
async function run(eventName: string, email: string) {
  const [id = ''] = await post(eventName, email)
  const { outcome } = await engine().ended(id, 'COMPLETED')
  return { id, outcome }
}

/** When the mail of an execution was written, ms. */
async function writtenAt(executionId: string): Promise<number> {
  const { created_at } = await api.db
    .selectFrom('emails')
    .select('created_at')
    .where('execution_id', '=', executionId)
    .executeTakeFirstOrThrow()
  return created_at.getTime()
}

test('a mail that is one too many waits for the ms at which it fits, and goes then', async () => {
  const email = newContact()
  const first = await run(free, email)
  const fits = (await writtenAt(first.id)) + DAY_MS
  const [id = ''] = await post(patient, email)
  expect(await engine().waiting(id, 'hello')).toMatchObject({ waitUntil: fits })
  expect((await stepLines(id)).at(-1)).toBe('hello - frequency_cap')
  const wait = await api.db
    .selectFrom('event_waits')
    .select(['deadline', 'node_id', 'ended_by', 'watched'])
    .where('execution_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(wait).toEqual({
    deadline: new Date(fits),
    node_id: 'hello',
    ended_by: null,
    watched: true,
  })
  await engine().client.workflow.getHandle(id).signal(fire)
  expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'sent' })
  expect((await stepLines(id)).slice(1)).toEqual(['hello default frequency_cap', 'sent -'])
  expect(await engine().subjects(id)).toEqual([patient])
})

test('a mail that is one too many is skipped, and says why', async () => {
  const email = newContact()
  expect(await run(strict, email)).toMatchObject({ outcome: 'sent' })
  const { id, outcome } = await run(strict, email)
  expect(outcome).toBe('skipped')
  expect((await stepLines(id))[1]).toBe('hello skipped frequency_cap')
  expect(await run(strict, newContact())).toMatchObject({ outcome: 'sent' })
})

test('a mail that was put off is held while its workflow is paused, and waits on when it is active again', async () => {
  const eventName = uniqueName('event')
  const graph = design(
    { start: onEvent(eventName), hello: mail(eventName), sent: ['exit', { outcome: 'sent' }] },
    [
      ['start', 'hello'],
      ['hello', 'sent'],
    ],
  )
  const workflowId = await flow({ ...graph, settings: { ...cap('wait'), on_pause: 'hold' } })
  const setStatus = (status: string) =>
    api.request('PATCH', `/v1/workflows/${workflowId}`, { status })
  const email = newContact()
  await run(free, email)
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'hello')
  const lastLine = async () => (await stepLines(id)).at(-1)
  expect(await setStatus('paused')).toMatchObject({ status: 200 })
  await engine().client.workflow.getHandle(id).signal(fire)
  await expect.poll(lastLine, { timeout: 60_000 }).toBe('hello - held')
  expect(await engine().subjects(id)).toEqual([])
  expect(await setStatus('active')).toMatchObject({ status: 200 })
  await expect.poll(lastLine, { timeout: 60_000 }).toBe('hello - frequency_cap')
  await expect
    .poll(async () => (await engine().waiting(id, 'hello')).waitUntil, { timeout: 60_000 })
    .toBeLessThanOrEqual(Date.now() + DAY_MS)
  await engine().client.workflow.getHandle(id).signal(fire)
  expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'sent', step_count: 3 })
  expect((await stepLines(id)).slice(1)).toEqual(['hello default frequency_cap', 'sent -'])
  expect(await engine().subjects(id)).toEqual([eventName])
})

test('of two that wait for the same moment one goes, and the other waits for its own', async () => {
  const email = newContact()
  await run(free, email)
  const ids = [...(await post(patient, email)), ...(await post(patient, email))]
  for (const id of ids) await engine().waiting(id, 'hello')
  const [one = '', other = ''] = ids
  await engine().client.workflow.getHandle(one).signal(fire)
  await engine().ended(one, 'COMPLETED')
  const fits = (await writtenAt(one)) + DAY_MS
  await engine().client.workflow.getHandle(other).signal(fire)
  await expect
    .poll(async () => (await engine().waiting(other, 'hello')).waitUntil, { timeout: 60_000 })
    .toBe(fits)
  expect((await stepLines(other)).slice(1)).toEqual(['hello - frequency_cap'])
  expect(await engine().subjects(other)).toEqual([])
})

test('transactional mail neither counts nor waits, and what was stopped on its way does not count', async () => {
  const email = newContact()
  for (const _ of [1, 2]) await run(receipt, email)
  expect(await run(strict, email)).toMatchObject({ outcome: 'sent' })
  const capped = await mailing(cap('skip'), transactional)
  expect(await run(capped, email)).toMatchObject({ outcome: 'sent' })
  expect(await run(strict, email)).toMatchObject({ outcome: 'skipped' })
  await api.db
    .updateTable('deliveries')
    .set({ state: 'cancelled', settled_at: new Date() })
    .where('recipient', '=', email)
    .where('marketing', '=', true)
    .execute()
  expect(await run(strict, email)).toMatchObject({ outcome: 'sent' })
})

test('a goal takes an execution out of the wait, and an exit condition ends it', async () => {
  const exiting = await mailing({
    ...cap('wait'),
    exit_conditions: [isTrue('properties.gone')],
  })
  const email = newContact()
  await run(free, email)
  const ids = [...(await post(patient, email)), ...(await post(exiting, email))]
  for (const id of ids) await engine().waiting(id, 'hello')
  const [patientId = '', exitingId = ''] = ids
  await patch(email, { gone: true })
  expect(await engine().ended(exitingId, 'COMPLETED')).toMatchObject({ outcome: 'exited' })
  await patch(email, { bought: true })
  expect(await engine().ended(patientId, 'COMPLETED')).toMatchObject({ outcome: 'thanked' })
  expect((await stepLines(patientId)).slice(1)).toEqual([
    'hello - goal',
    'bought default goal',
    'thanked -',
  ])
  expect(await engine().subjects(patientId)).toEqual([])
})

test('executions of one contact that run at the same moment send no more than fits', async () => {
  const eventName = uniqueName('all')
  for (let i = 0; i < 5; i++) {
    const graph = design({ start: onEvent(eventName), hello: mail(`${i}`), end: ['exit', {}] }, [
      ['start', 'hello'],
      ['hello', 'end'],
    ])
    await flow({ ...graph, settings: cap('skip', 2) })
  }
  const emails = Array.from({ length: 6 }, newContact)
  const started = await Promise.all(emails.map((email) => post(eventName, email)))
  for (const ids of started) {
    expect(ids).toHaveLength(5)
    for (const id of ids) await engine().ended(id, 'COMPLETED')
    const sent = await Promise.all(ids.map((id) => engine().subjects(id)))
    expect(sent.flat()).toHaveLength(2)
  }
})
