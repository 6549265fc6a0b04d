// The node http_request in the interpreter: the request that it asks for, and where it goes on by what came back.
// Long because what a design may say of a request is one table.
import { describe, expect, test } from 'vitest'
import type { Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { SegmentFacts, SegmentTools, TextForm } from '../../../rules/interpreterTypes.ts'
import { codesOf, designAround, factsOf } from './builders.ts'
import { faults } from './faults.ts'
import { designOf, ended, sending, start } from './runners.ts'

type Data = Extract<Node, { type: 'http_request' }>['data']

const get: Data = { method: 'GET', url: 'https://api.acme.test/users' }
const exits: Node[] = ['success', 'error'].map((handle) => ({
  id: handle,
  type: 'exit',
  data: { outcome: handle },
}))
const around = (data: Data, ...more: Node[]) =>
  designOf(
    [{ id: 'ask', type: 'http_request', data }, ...exits, ...more],
    't>ask',
    'ask.success>success',
    'ask.error>error',
  )

/** Renders nothing: says what was to be rendered, and in which form. */
const tools = (): SegmentTools => ({
  ...sending(),
  renderText: (_nodeId, source, _facts, form?: TextForm) => ({
    ok: true,
    text: `<${form} ${source}>`,
  }),
})

describe('entering it', () => {
  test('asks for a request with the defaults, and leaves the step open', () => {
    const { steps, next } = walkSegment(around(get), start, factsOf(), tools())
    expect(steps.at(-1)).toEqual({ nodeId: 'ask', type: 'http_request', handle: null, why: null })
    expect(next).toEqual({
      kind: 'call',
      nodeId: 'ask',
      call: { ...get, headers: {}, body: null, timeout_ms: 10_000, storeAs: null },
    })
  })

  test('renders path and query, headers and body, each by its own rules', () => {
    const { next } = walkSegment(
      around({
        method: 'POST',
        url: 'https://api.acme.test:8443/users/{{ contact.email }}?q={{ event.q }}',
        headers: { Authorization: 'Bearer {{ secrets.KEY }}', 'X-Plain': 'plain' },
        body: {
          plan: { var: 'event.plan' },
          hi: 'Hi {{ event.name }}',
          list: [1, '{{ event.x }}'],
        },
        timeout_ms: 500,
        store_as: 'user',
      }),
      start,
      factsOf({ event: { plan: { name: 'pro' } } }),
      tools(),
    )
    expect(next).toMatchObject({
      call: {
        method: 'POST',
        url: 'https://api.acme.test:8443<request_url /users/{{ contact.email }}?q={{ event.q }}>',
        headers: {
          authorization: '<request_line Bearer {{ secrets.KEY }}>',
          'x-plain': 'plain',
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          plan: { name: 'pro' },
          hi: '<request_body Hi {{ event.name }}>',
          list: [1, '<request_body {{ event.x }}>'],
        }),
        timeout_ms: 500,
        storeAs: 'user',
      },
    })
  })

  test.each<[string, Data, string | null, string | undefined]>([
    ['a text', { ...get, method: 'PUT', body: 'a=1' }, 'a=1', 'text/plain; charset=utf-8'],
    ['a text of JSON', { ...get, method: 'PUT', body: '{"a":1}' }, '{"a":1}', 'application/json'],
    ['an array', { ...get, method: 'PATCH', body: [1, null] }, '[1,null]', 'application/json'],
    ['false', { ...get, method: 'DELETE', body: false }, 'false', 'application/json'],
    ['nothing', { ...get, method: 'DELETE' }, null, undefined],
    [
      'a type of its own',
      { ...get, method: 'POST', body: 'a=1', headers: { 'Content-Type': 'x/y' } },
      'a=1',
      'x/y',
    ],
  ])('the body may be %s', (_name, data, body, type) => {
    const { next } = walkSegment(around(data), start, factsOf(), tools())
    if (next.kind !== 'call') throw new Error(`no call: ${next.kind}`)
    expect([next.call.body, next.call.headers['content-type']]).toEqual([body, type])
  })

  test('a text that does not render leaves by error, and nothing is asked', () => {
    const broken = { ...tools(), renderText: () => ({ ok: false as const, why: 'template: no' }) }
    const data = { ...get, url: 'https://api.acme.test/{{ a | nope }}' }
    const { steps, next } = walkSegment(around(data), start, factsOf(), broken)
    expect(steps[1]).toMatchObject({ nodeId: 'ask', handle: 'error', why: 'template: no' })
    expect(next).toEqual(ended('error'))
  })
})

describe('a value in the path', () => {
  const asking = (url: string, value: string) => {
    const renderText = (_nodeId: string, source: string) => ({
      ok: true as const,
      text: source.replaceAll('{{ id }}', encodeURIComponent(value)),
    })
    const around_ = around({ ...get, method: 'DELETE', url: `https://api.acme.test${url}` })
    const { steps, next } = walkSegment(around_, start, factsOf(), { ...tools(), renderText })
    return next.kind === 'call' ? next.call.url.slice(21) : steps[1]?.why
  }

  test.each([
    ['/users/{{ id }}', '..'],
    ['/users/{{ id }}/orders?of=1', '..'],
    ['/users/{{ id }}#top', '.'],
    ['/users/.{{ id }}', '.'],
    ['/users/{{ id }}%2e/orders', '.'],
  ])('%s leads nowhere else with %s', (url, value) => {
    expect(asking(url, value)).toBe('a value makes the path lead elsewhere')
  })

  test.each([
    ['/users/{{ id }}', '...', '/users/...'],
    ['/users/{{ id }}', '../..', '/users/..%2F..'],
    ['/users/{{ id }}.json', '.a', '/users/.a.json'],
    ['/users?up=/{{ id }}/', '..', '/users?up=/../'],
    ['/users/../{{ id }}', 'a', '/users/../a'],
  ])('%s may be with %s', (url, value, expected) => {
    expect(asking(url, value)).toBe(expected)
  })
})

describe('after its call', () => {
  const called = (handle: 'success' | 'error', why: string) =>
    ({ kind: 'called', nodeId: 'ask', result: { handle, why } }) as const

  test.each([
    ['success', '200'],
    ['error', '404'],
    ['error', '503 after 5 tries'],
    ['error', 'private_address'],
  ] as const)('it leaves by %s because of %s', (handle, why) => {
    const { left, steps, next } = walkSegment(
      around(get),
      called(handle, why),
      factsOf(),
      sending(),
    )
    expect(left).toEqual({ handle, why })
    expect(steps.map(({ nodeId }) => nodeId)).toEqual([handle])
    expect(next).toEqual(ended(handle))
  })

  test('conditions read what it kept', () => {
    const rule = { type: 'rule', field: 'steps.user.body.items[].id', operator: 'eq', value: 7 }
    const design = designOf(
      [
        { id: 'ask', type: 'http_request', data: { ...get, store_as: 'user' } },
        { id: 'if', type: 'condition', data: { condition: rule } } as Node,
        ...exits,
      ],
      't>ask',
      'ask.success>if',
      'ask.error>error',
      'if.true>success',
      'if.false>error',
    )
    const asked = (body: object) => {
      const steps = { user: { status: 200, headers: {}, body } } as unknown as SegmentFacts['steps']
      return walkSegment(design, called('success', '200'), factsOf({ steps }), sending()).next
    }
    expect(asked({ items: [{ id: 6 }, { id: 7 }] })).toEqual(ended('success'))
    expect(asked({ items: [] })).toEqual(ended('error'))
  })

  const goal: Node = { id: 'bought', type: 'goal', data: { event_name: 'order.paid' } }
  test('a goal that was reached meanwhile is jumped to now', () => {
    const design = around(get, goal)
    const facts = { ...factsOf(), arrived: ['order.paid'] }
    const { left, steps } = walkSegment(design, called('success', '200'), facts, sending())
    expect(left).toEqual({ handle: null, why: 'goal' })
    expect(steps.map(({ nodeId }) => nodeId)).toEqual(['bought'])
  })
  test('an exit that holds meanwhile comes before it', () => {
    const condition = { type: 'rule', field: 'properties.gone', operator: 'exists' } as const
    const design = { ...around(get, goal), settings: { exit_conditions: [condition] } }
    const contact = { email: 'a@b.test', first_seen: 0, properties: { gone: 1 } }
    const facts = { ...factsOf({ contact }), arrived: ['order.paid'] }
    const { left, next } = walkSegment(design, called('error', '404'), facts, sending())
    expect(left).toEqual({ handle: null, why: 'exited' })
    expect(next).toEqual(ended('exited'))
  })
})

const post = { method: 'POST', url: 'https://a.test/' }
const withUrl = (url: unknown) => ({ method: 'GET', url })
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, 'y']))
faults(
  'http_request',
  ['success', 'error'],
  [
    ['no method and no url', {}, ['method bad_value', 'url bad_value']],
    ['another method', { ...get, method: 'TRACE' }, ['method bad_value']],
    ['a method in lower case', { ...get, method: 'get' }, ['method bad_value']],
    ...[
      'ftp://a.test/',
      '//a.test/',
      '/users',
      'https://',
      'https://a b.test/',
      'http://mail.a.test:25/',
      'https://mail.a.test:465/{{ contact.email }}',
      'http://mail.a.test:0587/',
      'http://a.test:6667/',
      'https://user:pass@a.test/',
      'https://{{ event.host }}/',
      'https://a.test:{{ event.port }}/',
      '{{ event.scheme }}://a.test/',
      '{{ event.url }}',
      'https://a.test{{ event.host }}',
      'https://a.test\\@b.test/',
      'https://a%2etest/',
      'https://a.test:99999/',
      7,
      '',
    ].map((url): [string, object, string[]] => [`the url ${url}`, withUrl(url), ['url bad_value']]),
    ['a long url', withUrl(`https://a.test/${'x'.repeat(8_192)}`), ['url bad_value']],
    ['headers as a list', { ...get, headers: [] }, ['headers bad_value']],
    ['too many headers', { ...get, headers: many(51) }, ['headers too_many']],
    ['a header that is no text', { ...get, headers: { a: 1 } }, ['headers.a bad_value']],
    ['a header name with a space', { ...get, headers: { 'a b': 'c' } }, ['headers.a b bad_value']],
    ...['Host', 'content-length', 'Idempotency-Key', 'Transfer-Encoding', 'Connection'].map(
      (name): [string, object, string[]] => [
        `the header ${name}`,
        { ...get, headers: { [name]: 'x' } },
        [`headers.${name} bad_value`],
      ],
    ),
    ['a body of GET', { ...get, body: 'x' }, ['body bad_value']],
    ['a body of no field', { ...post, body: { a: { var: 'nope' } } }, ['body.a unknown_field']],
    ['no time', { ...get, timeout_ms: 0 }, ['timeout_ms bad_value']],
    ['too much time', { ...get, timeout_ms: 30_001 }, ['timeout_ms bad_value']],
    ['half a millisecond', { ...get, timeout_ms: 1.5 }, ['timeout_ms bad_value']],
    ['a name with a dot', { ...get, store_as: 'a.b' }, ['store_as bad_value']],
  ],
)

test.each([
  'http://a.test',
  'HTTPS://a.test:8443?x={{ event.x }}',
  'https://[::1]:80/x',
  'https://a.test/{{ event.a }}/{% if event.b %}b{% endif %}#c',
])('the url %s is fine', (url) => {
  expect(codesOf(designAround('http_request', withUrl(url), 'success', 'error'))).toEqual([])
})

test('what no node keeps cannot be read', () => {
  const condition = { type: 'rule', field: 'steps.user.status', operator: 'exists' }
  const design = designAround('condition', { condition }, 'true', 'false')
  expect(codesOf(design)).toEqual(['nodes.1.data.condition.field unknown_node'])
})
