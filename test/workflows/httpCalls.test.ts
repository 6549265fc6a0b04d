// Requests of nodes: a real service is called by a real worker, and the execution goes on by what came back.
// Long because each case of the node is run once, by the same engine and the same service.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostKeyOf } from '../../activities/hostKey.ts'
import { putSecret } from '../../commands/secrets/put.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import type { CallHttpInput, CallHttpResult, SegmentInput } from '../../workflows/messages.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'

const TEST_MS = 120_000
const database = await createTestDatabase()
const { db } = database
const server = await createHttpServer()
let engine: Engine
/** What becomes of a call once its try has done everything, as when its worker dies then. */
let afterCall: (input: SegmentInput, result: CallHttpResult) => void = () => undefined
/** What the activity is given. */
let toInput = (input: CallHttpInput): CallHttpInput => input

beforeAll(async () => {
  engine = await startEngine(database, {
    callPace: 0.01,
    around: ({ callHttp }) => ({
      async callHttp(input) {
        const result = await callHttp(toInput(input))
        afterCall(input, result)
        return result
      },
    }),
  })
})
afterAll(() => engine?.stop())

type Node = [type: string, data: Record<string, unknown>]

/** trigger → ask → `then` or exit `bad`. */
const asking = (data: object, then: Record<string, Node> = {}) => {
  const ids = [...Object.keys(then), 'good']
  return design(
    {
      start: onEvent('begins'),
      ask: ['http_request', { method: 'GET', ...data }],
      ...then,
      good: ['exit', { outcome: 'good' }],
      bad: ['exit', { outcome: 'bad' }],
    },
    [
      ['start', 'ask'],
      ['ask', ids[0] ?? 'good', 'success'],
      ['ask', 'bad', 'error'],
      ...ids.slice(1).map((id, i): [string, string] => [ids[i] ?? '', id]),
    ],
  )
}

async function runToEnd(data: object, then: Record<string, Node> = {}) {
  const run = await engine.run(asking(data, then))
  const { outcome } = await engine.ended(run.id, 'COMPLETED')
  const step = await db
    .selectFrom('execution_steps')
    .select(['handle', 'why'])
    .where('execution_id', '=', run.id)
    .where('node_id', '=', 'ask')
    .executeTakeFirstOrThrow()
  return { ...run, outcome, step: `${step.handle} ${step.why}` }
}
const callOf = (id: string) =>
  db.selectFrom('http_calls').selectAll().where('execution_id', '=', id).executeTakeFirstOrThrow()

/** Everything that Temporal keeps of an execution, as one text. */
async function historyOf(id: string): Promise<string> {
  const text = historyToJSON(await engine.client.workflow.getHandle(id).fetchHistory())
  return text.replace(/"data": *"([^"]*)"/g, (_, data) => Buffer.from(data, 'base64').toString())
}

test(
  'what is described arrives, and what comes back is read by conditions and Liquid',
  async () => {
    server.answer('/credit', json(200, { score: 7, name: 'Ada' }))
    const { id, email, outcome, step } = await runToEnd(
      {
        method: 'POST',
        url: `${server.url}/credit?of={{ contact.email }}&x={{ "a&b=ü" }}`,
        headers: { 'X-Name': 'é {{ contact.email }}' },
        body: { email: '{{ contact.email }}', lines: 'a\nb' },
        store_as: 'credit',
      },
      {
        rich: [
          'filter',
          {
            condition: {
              type: 'and',
              rules: [
                { type: 'rule', field: 'steps.credit.body.score', operator: 'gt', value: 5 },
                { type: 'rule', field: 'steps.credit.status', operator: 'eq', value: 200 },
              ],
            },
          },
        ],
        note: ['update_contact', { set: { score: { var: 'steps.credit.body.score' } } }],
        pause: ['delay', { ms: 5 }],
        hello: mail('Hi {{ steps.credit.body.name }} {{ steps.credit.headers.content-type }}'),
      },
    )
    expect([outcome, step]).toEqual(['good', 'success 200'])
    const [came, ...more] = server.came('/credit')
    expect(more).toEqual([])
    expect(came).toMatchObject({
      method: 'POST',
      url: `/credit?of=${encodeURIComponent(email)}&x=a%26b%3D%C3%BC`,
      headers: { 'content-type': 'application/json', 'idempotency-key': `${id}:ask:1` },
      body: JSON.stringify({ email, lines: 'a\nb' }),
    })
    expect(Buffer.from(String(came?.headers['x-name']), 'latin1').toString()).toBe(`é ${email}`)
    expect(await engine.subjects(id)).toEqual(['Hi Ada application/json'])
    const contact = await db
      .selectFrom('contacts')
      .select('properties')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    expect(contact.properties).toEqual({ score: 7 })
    // What was sent is forgotten once the call is over, and Temporal has seen neither it nor the answer.
    expect(await callOf(id)).toMatchObject({ request: null, tries: 1, status: 200 })
    const history = await historyOf(id)
    for (const text of ['Ada', 'score', email]) expect(history).not.toContain(text)
    expect(history).toContain('"outcome":"success"')
  },
  TEST_MS,
)

describe('what may pass is tried again, always with the same key', () => {
  test(
    'until it succeeds',
    async () => {
      server.answer('/busy', json(503, {}), json(429, {}, { 'retry-after': '0' }), json(201, {}))
      const { id, outcome, step } = await runToEnd({ url: `${server.url}/busy` })
      expect([outcome, step]).toEqual(['good', 'success 201'])
      const keys = server.came('/busy').map(({ headers }) => headers['idempotency-key'])
      expect(keys).toEqual(Array(3).fill(`${id}:ask:1`))
    },
    TEST_MS,
  )
  test(
    'or five times',
    async () => {
      server.answer('/down', json(500, { reason: 'broken' }))
      const { id, outcome, step } = await runToEnd({ url: `${server.url}/down`, store_as: 'a' })
      expect([outcome, step]).toEqual(['bad', 'error 500 after 5 tries'])
      expect(server.came('/down')).toHaveLength(5)
      const { answer, tries } = await callOf(id)
      expect([answer, tries]).toEqual([expect.objectContaining({ body: { reason: 'broken' } }), 5])
    },
    TEST_MS,
  )
  test(
    'a server that says nothing in time, too',
    async () => {
      server.answer('/silent', () => undefined, json(200, {}))
      const { outcome } = await runToEnd({ url: `${server.url}/silent`, timeout_ms: 300 })
      expect([outcome, server.came('/silent').length]).toEqual(['good', 2])
    },
    TEST_MS,
  )
})

test.each<[string, object, string]>([
  ['a refusal', { path: '/no', status: 404 }, 'error 404'],
  ['a redirect', { path: '/moved', status: 302 }, 'error 302'],
])(
  '%s is an error at once',
  async (_name, given, expected) => {
    const { path, status } = given as { path: string; status: number }
    server.answer(path, json(status, {}, { location: `${server.url}/elsewhere` }))
    const { outcome, step } = await runToEnd({ url: server.url + path })
    expect([outcome, step]).toEqual(['bad', expected])
    expect([server.came(path).length, server.came('/elsewhere').length]).toEqual([1, 0])
  },
  TEST_MS,
)

test(
  'an answer of over 256 KB is an error, and one that Postgres cannot store as it is is kept as text',
  async () => {
    server.answer('/long', (res) => res.end(`"${'x'.repeat(256 * 1024)}"`))
    expect(await runToEnd({ url: `${server.url}/long`, store_as: 'a' })).toMatchObject({
      outcome: 'bad',
      step: 'error answer_too_large',
    })
    server.answer('/odd', (res) => res.end('{"a":"\\u0000b\\ud800"}'))
    const { id } = await runToEnd({ url: `${server.url}/odd`, store_as: 'a' })
    expect((await callOf(id)).answer).toMatchObject({ body: '{"a":"\\u0000b\\ud800"}' })
  },
  TEST_MS,
)

test(
  'a worker that ends between the answer and the next segment calls once',
  async () => {
    server.answer('/once', json(200, {}))
    let deaths = 0
    afterCall = () => {
      deaths += 1
      if (deaths <= 2) throw new Error('the worker ends here')
    }
    const { outcome } = await runToEnd({ url: `${server.url}/once` })
    afterCall = () => undefined
    expect([outcome, deaths, server.came('/once').length]).toEqual(['good', 3, 1])
  },
  TEST_MS,
)

test(
  'the call is asked for with whose it is and which host, and made too where an earlier release has not said so',
  async () => {
    server.answer('/whose', json(200, {}))
    const inputs: CallHttpInput[] = []
    toInput = (input) => {
      inputs.push(input)
      const { executionId, segment } = input
      return { executionId, segment }
    }
    const { id, outcome } = await runToEnd({ url: `${server.url}/whose` })
    toInput = (input) => input
    const { workspaceId } = engine
    expect(inputs).toEqual([
      { executionId: id, segment: 0, workspaceId, hostKey: hostKeyOf(server.url) },
    ])
    expect([outcome, server.came('/whose').length]).toEqual(['good', 1])
  },
  TEST_MS,
)

test(
  'the goal that a contact reaches meanwhile is jumped to once the call is over',
  async () => {
    const answers: (() => void)[] = []
    server.answer('/slow', (res, came) => void answers.push(() => json(200, {})(res, came)))
    const flow = asking({ url: `${server.url}/slow` })
    const goal = { id: 'bought', type: 'goal', data: { event_name: 'order.paid' } }
    const { id, email } = await engine.run({ ...flow, nodes: [...flow.nodes, goal] })
    await eventually(() => expect(answers).toHaveLength(1))
    expect((await engine.describe(id)).status).toBe('IN_PROGRESS')
    await engine.post('order.paid', email)
    expect((await engine.row(id)).ended_status).toBeNull()
    answers[0]?.()
    await engine.ended(id, 'COMPLETED')
    expect(await engine.steps(id)).toEqual(['start=default', 'ask=null', 'bought=default'])
  },
  TEST_MS,
)

test(
  'after a wait the execution is in progress again while it calls, and each lap has a key of its own',
  async () => {
    server.answer('/laps', json(200, {}))
    const flow = asking(
      { url: `${server.url}/laps` },
      { wait: ['wait_for_event', { event_name: 'again' }] },
    )
    const edges = [
      ...flow.edges.filter(({ source }) => source !== 'wait'),
      { id: 'back', source: 'wait', target: 'ask', sourceHandle: 'received' },
    ]
    const { id, email } = await engine.run({ ...flow, edges })
    await engine.waiting(id, 'wait')
    const held: (() => void)[] = []
    server.answer('/laps', (res, came) => void held.push(() => json(200, {})(res, came)))
    await engine.post('again', email)
    await eventually(async () => {
      expect(held).toHaveLength(1)
      expect((await engine.describe(id)).status).toBe('IN_PROGRESS')
    })
    held[0]?.()
    await engine.waiting(id, 'wait')
    const keys = server.came('/laps').map(({ headers }) => headers['idempotency-key'])
    expect(keys).toEqual([`${id}:ask:1`, `${id}:ask:2`])
  },
  TEST_MS,
)

test(
  'an execution that is cancelled while it calls ends at once',
  async () => {
    server.answer('/never', () => undefined)
    const { id } = await engine.run(asking({ url: `${server.url}/never`, timeout_ms: 30_000 }))
    await eventually(() => expect(server.came('/never')).toHaveLength(1))
    await engine.client.workflow.getHandle(id).cancel()
    await engine.ended(id, 'CANCELLED')
  },
  TEST_MS,
)

describe('secrets', () => {
  const store = async (name: string, value: string) => {
    const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
    const deps = { db, secrets, now, wake: () => undefined }
    await putSecret(deps, wholeWorkspace(engine.workspaceId), { name, value })
  }
  const everything = async (id: string) => {
    const { rows } = await sql<{ text: string }>`
      select concat_ws(' ', (select json_agg(s) from execution_steps s where s.execution_id = ${id}),
        (select json_agg(s) from execution_segments s where s.execution_id = ${id}),
        (select json_agg(c) from http_calls c where c.execution_id = ${id}),
        (select json_agg(e) from executions e where e.id = ${id})) as text`.execute(db)
    return `${rows[0]?.text} ${await historyOf(id)}`
  }

  test(
    'reach the service, and nobody else',
    async () => {
      await store('KEY', 'sk_live_0815')
      server.answer('/echo', (res, { headers }) =>
        json(200, { list: [{ 'sk_live_0815!': headers.authorization }] })(res, {} as never),
      )
      const { id, step } = await runToEnd(
        {
          url: `${server.url}/echo?k={{ secrets.KEY }}`,
          headers: { authorization: 'Bearer {{ secrets.KEY }}' },
          store_as: 'echo',
        },
        { hello: mail('Hi {{ secrets.KEY }}|{{ steps.echo.body.list[0] }}') },
      )
      expect(step).toBe('success 200')
      expect(server.came('/echo')[0]).toMatchObject({
        url: '/echo?k=sk_live_0815',
        headers: { authorization: 'Bearer sk_live_0815' },
      })
      expect(await engine.subjects(id)).toEqual([expect.stringMatching(/^Hi \|/)])
      expect((await engine.subjects(id)).join()).not.toContain('sk_live')
      expect(await everything(id)).not.toContain('sk_live')
      expect((await callOf(id)).answer).toMatchObject({
        body: { list: [{ '[secret]!': 'Bearer [secret]' }] },
      })
    },
    TEST_MS,
  )
  test(
    'are not shown in the forms in which the service quotes what it was sent',
    async () => {
      const value = 'p&ss "wörd"/0815'
      await store('PASSWORD', value)
      server.answer('/quote', (res, { url, headers }) =>
        json(200, { url, auth: headers.authorization, raw: JSON.stringify({ value }) })(
          res,
          {} as never,
        ),
      )
      const { id, step } = await runToEnd({
        url: `${server.url}/quote?k={{ secrets.PASSWORD }}`,
        headers: { authorization: 'Basic {{ "me:" | append: secrets.PASSWORD | base64_encode }}' },
        store_as: 'quote',
      })
      expect(step).toBe('success 200')
      const all = await everything(id)
      for (const part of ['wörd', 'w%C3%B6rd', '0815']) expect(all).not.toContain(part)
      const { answer } = await callOf(id)
      const { body } = answer as { body: { auth: string; raw: string } }
      expect(Buffer.from(body.auth.slice(6), 'base64').toString()).not.toContain('ss')
      expect(body.raw).toBe('{"value":"[secret]"}')
    },
    TEST_MS,
  )
  test(
    'of the workspace and of other domains do not reach a design that a key for one domain wrote',
    async () => {
      await store('KEY', 'sk_live_0815')
      await db
        .insertInto('secrets')
        .values(
          ['dom_own', 'dom_other'].map((domain_id) => ({
            ...{ workspace_id: engine.workspaceId, name: domain_id.toUpperCase(), domain_id },
            value: createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64')).encrypt(
              'secret',
              Buffer.from(`value of ${domain_id}`),
            ),
            ...{ created_at: now(), updated_at: now() },
          })),
        )
        .execute()
      server.answer('/bound', json(200, {}))
      const runBound = async (name: string) => {
        await engine.stopStarter()
        const url = `${server.url}/bound?k={{ secrets.${name} }}`
        const { id, workflowId } = await engine.run(asking({ url }))
        await db
          .updateTable('workflow_versions')
          .set({ bound_domain_id: 'dom_own' })
          .where('workflow_id', '=', workflowId)
          .execute()
        engine.startStarter()
        return (await engine.ended(id, 'COMPLETED')).outcome
      }
      expect(await runBound('KEY')).toBe('bad')
      expect(await runBound('DOM_OTHER')).toBe('bad')
      expect(await runBound('DOM_OWN')).toBe('good')
      expect(server.came('/bound').map(({ url }) => url)).toEqual(['/bound?k=value%20of%20dom_own'])
    },
    TEST_MS,
  )
  test(
    'that are missing, or in a text that does not render, leave by error without a call',
    async () => {
      await store('KEY', 'sk_live_0815')
      const missing = await runToEnd({ url: `${server.url}/not?k={{ secrets.GONE }}` })
      expect(missing).toMatchObject({ outcome: 'bad', step: 'error there is no secrets.GONE' })
      const broken = await runToEnd({
        url: `${server.url}/not?k={% for i in (1..secrets.KEY) %}{{ secrets.KEY }}{% endfor %}{{ secrets.KEY | nope }}`,
      })
      expect(broken).toMatchObject({
        outcome: 'bad',
        step: 'error template: a text with a secret does not render',
      })
      expect(await everything(broken.id)).not.toContain('sk_live')
      const byValue = await runToEnd({ url: `${server.url}/not?k={{ secrets[secrets.KEY] }}` })
      expect(byValue).toMatchObject({ outcome: 'bad', step: 'error there is no such secret' })
      expect(await everything(byValue.id)).not.toContain('sk_live')
      expect(server.came('/not')).toEqual([])
    },
    TEST_MS,
  )
})
