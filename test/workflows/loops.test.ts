// Loops over several executions and within one: each ends, and nobody's mailbox is flooded.
import { expect, test } from 'vitest'
import { limits } from '../../rules/limits.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, stepLines, newContact, withoutStarter } =
  await createApiWithEngine()
const SOON = { deadline_ms: 90_000 }
type Node = [type: string, data: Record<string, unknown>]

const executionsOf = (email: string) =>
  api.db
    .selectFrom('executions')
    .select(['id', 'workflow_id', 'chain_depth', 'ended_status', 'error'])
    .where('email', '=', email)
    .orderBy('id')
    .execute()

async function countMails(email: string): Promise<number> {
  const found = await api.db
    .selectFrom('emails')
    .innerJoin('executions', 'executions.id', 'emails.execution_id')
    .select('emails.id')
    .where('executions.email', '=', email)
    .execute()
  return found.length
}

/** Waits until one of a contact's executions has failed. */
const someFailed = (email: string) =>
  eventually(async () => {
    const found = await executionsOf(email)
    const failed = found.filter(({ ended_status }) => ended_status === 'FAILED')
    if (failed.length === 0) throw new Error(`none failed: ${await countMails(email)} mails`)
    return failed
  }, SOON)

/** Waits for an event again and again, sends a mail each time, and records another event. */
const answersAgain = (starts: string, hears: string, says: string, pause: Record<string, Node>) =>
  design(
    {
      start: onEvent(starts),
      wait: ['wait_for_event', { event_name: hears }],
      hello: mail('Hello'),
      ...pause,
      answer: ['send_event', { event_name: says }],
    },
    [
      ['start', 'wait'],
      ['wait', 'hello', 'received'],
      ['hello', Object.keys(pause)[0] ?? 'answer'],
      ...Object.keys(pause).map((id): [string, string] => [id, 'answer']),
      ['answer', 'wait'],
    ],
  )

/** Two executions of one contact that answer each other's waits, and the first event. */
async function startPair() {
  const [starts, ping, pong] = [uniqueName('starts'), uniqueName('ping'), uniqueName('pong')]
  await flow(answersAgain(starts, ping, pong, {}))
  await flow(answersAgain(starts, pong, ping, {}))
  const email = newContact()
  const ids = await post(starts, email)
  expect(ids).toHaveLength(2)
  for (const id of ids) await engine().waiting(id, 'wait')
  await post(ping, email)
  return { email, ids }
}

test('executions that answer each other’s waits stop at the tenth effect', async () => {
  const { email } = await startPair()
  const [failed] = await someFailed(email)
  expect(failed).toMatchObject({ chain_depth: 10, error: 'answer: chain_too_deep' })
  expect(await stepLines(failed?.id ?? '')).toContain('answer - chain_too_deep')
  expect(await countMails(email)).toBe(11)
})

test('who joins an audience and is removed again, by two workflows, stops at the tenth effect', async () => {
  const made = await api.request<{ id: string }>('POST', '/v1/audiences', { name: uniqueName('a') })
  const audience_id = made.body.id
  const reacts = (kind: string, type: string) =>
    design(
      {
        start: ['trigger', { kind, audience_id }],
        hello: mail(kind),
        change: [type, { audience_id }],
        end: ['exit', {}],
      },
      [
        ['start', 'hello'],
        ['hello', 'change'],
        ['change', 'end'],
      ],
    )
  await flow(reacts('audience_joined', 'remove_from_audience'))
  await flow(reacts('audience_left', 'add_to_audience'))
  const begins = uniqueName('begins')
  await flow(
    design(
      { start: onEvent(begins), join: ['add_to_audience', { audience_id }], end: ['exit', {}] },
      [
        ['start', 'join'],
        ['join', 'end'],
      ],
    ),
  )
  const email = newContact()
  await post(begins, email)
  const [failed] = await someFailed(email)
  expect(failed).toMatchObject({ chain_depth: 10, error: 'change: chain_too_deep' })
  expect(await countMails(email)).toBe(10)
})

const short: Record<string, Node> = { pause: ['delay', { ms: 1 }] }
const tooMany = { ended_status: 'FAILED', error: 'hello: too_many_mails' }
/** More than any of these loops may take. */
const LAPS_MAX = limits.executionMailsPerDayMax * 3

/** Runs segments of an execution without Temporal, from that one to the end or to a wait for an event. @returns the next one */
async function runOn(executionId: string, from: number): Promise<number> {
  for (let segment = from; segment < from + LAPS_MAX; segment++) {
    const { next } = await engine().runSegment({ executionId, segment })
    if (next.kind !== 'sleep') return segment + 1
  }
  throw new Error(`${executionId} sends without end: ${LAPS_MAX} segments`)
}

/** Whether an event has ended the wait before a segment. */
async function isAnswered(id: string, segment: number): Promise<boolean> {
  const waits = api.db.selectFrom('event_waits').select('consumed_by')
  const last = waits.where('execution_id', '=', id).where('segment', '=', segment - 1)
  return (await last.executeTakeFirst())?.consumed_by != null
}

test('executions that answer each other’s waits after a pause send no more than so many mails a day', async () => {
  const [starts, ping, pong] = [uniqueName('starts'), uniqueName('ping'), uniqueName('pong')]
  await flow(answersAgain(starts, ping, pong, short))
  await flow(answersAgain(starts, pong, ping, short))
  const email = newContact()
  await withoutStarter(async () => {
    const ids = await post(starts, email)
    const segments = await Promise.all(ids.map((id) => runOn(id, 0)))
    await post(ping, email)
    for (let lap = 0; lap < LAPS_MAX; lap++) {
      for (const [i, id] of ids.entries()) {
        const segment = segments[i] ?? 0
        if (await isAnswered(id, segment)) segments[i] = await runOn(id, segment)
      }
      if ((await executionsOf(email)).some(({ ended_status }) => ended_status !== null)) return
    }
  })
  const ended = (await executionsOf(email)).filter(({ ended_status }) => ended_status !== null)
  // The depth is that of the last answer: none of these pauses lets it grow.
  expect(ended).toMatchObject([{ ...tooMany, chain_depth: 1 }])
  expect(await countMails(email)).toBe(limits.executionMailsPerDayMax * 2)
})

const goesRound = (eventName: string, settings: object = {}) => ({
  ...design({ start: onEvent(eventName), hello: mail('Again'), ...short }, [
    ['start', 'hello'],
    ['hello', 'pause'],
    ['pause', 'hello'],
  ]),
  settings,
})

test('so does an execution that goes round a loop with hardly a pause', async () => {
  const name = uniqueName('loops')
  await flow(goesRound(name))
  const email = newContact()
  await withoutStarter(async () => {
    const [id = ''] = await post(name, email)
    await runOn(id, 0)
    const steps = api.db.selectFrom('execution_steps').select(['node_id', 'handle', 'why'])
    const last = steps.where('execution_id', '=', id).orderBy('seq', 'desc')
    expect(await last.executeTakeFirst()).toEqual({
      node_id: 'hello',
      handle: null,
      why: 'too_many_mails',
    })
  })
  expect(await executionsOf(email)).toMatchObject([tooMany])
  expect(await countMails(email)).toBe(limits.executionMailsPerDayMax)
})

test('where a failed step lets it go on, it sends again as its mails of a day ago are no more among them', async () => {
  const name = uniqueName('loops')
  await flow(goesRound(name, { on_step_failure: 'continue' }))
  const email = newContact()
  const most = limits.executionMailsPerDayMax
  await withoutStarter(async () => {
    const [executionId = ''] = await post(name, email)
    const run = (segment: number) => engine().runSegment({ executionId, segment })
    for (let segment = 0; segment < most + 5; segment++) await run(segment)
    expect(await countMails(email)).toBe(most)
    const oldest = api.db.selectFrom('emails').select('id').orderBy('id').limit(2)
    await api.db
      .updateTable('emails')
      .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
      .where('id', 'in', oldest.where('execution_id', '=', executionId))
      .execute()
    for (let segment = most + 5; segment < most + 10; segment++) await run(segment)
    expect(await countMails(email)).toBe(most + 2)
  })
})
