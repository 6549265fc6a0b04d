// Templates that would block the process for minutes: each is refused, and other requests are answered meanwhile.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')

const send = (html: string, variables: object = {}) =>
  api.request<{ code?: string; part?: string; ms?: number; message?: string }>(
    'POST',
    '/v1/emails',
    {
      from: 'a@sender.test',
      to: 'b@example.test',
      subject: 'Hi',
      html,
      variables,
    },
  )

/** While one is rendered the event loop stands still for as long as this at most; it was minutes. */
const STALL_MS_MAX = 10_000

// The first render starts the child, and the first request reads the description of the interface.
beforeAll(async () => {
  expect((await send('{% for i in (1..2) %}{{ i }}{% endfor %}')).status).toBe(200)
})

/** Tries again as clients do while the answer is 503, because a render got too little of the processor on a busy machine. */
async function attackUntilAnswered(html: string) {
  for (;;) {
    const answered = await attack(html)
    if (answered.status !== 503) return answered
    expect(answered.body.code).toBe('service_unavailable')
  }
}

async function attack(html: string, variables?: object) {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const state = { isOver: false }
  const answer = send(html, variables).finally(() => {
    state.isOver = true
  })
  let healthy = 0
  while (!state.isOver) {
    const { status } = await api.request('GET', '/healthz')
    expect(status).toBe(200)
    healthy += 1
    // Not all the time: renders have the processor after everybody else.
    await Promise.race([answer, setTimeout(20)])
  }
  delay.disable()
  return { ...(await answer), stall_ms: delay.max / 1e6, healthy }
}

const long = 'ab '.repeat(60_000)

test.each([
  [
    'find_exp with has_exp in it',
    `{% assign a=(1..3000) %}{{ a | find_exp: "x", "a | has_exp: 'y', 'y > 30000'" }}`,
  ],
  [
    'nested where_exp',
    `{% assign a=(1..9000) %}{{ a | where_exp: "x", "a | where_exp: 'y', 'y > x'" | size }}`,
  ],
  [
    'has_exp three deep',
    `{% assign a=(1..900) %}{{ a | has_exp: "x", "a | has_exp: 'y', 'a | has_exp: \\"z\\", \\"z > 9999\\"'" }}`,
  ],
  [
    'group_by_exp',
    `{% assign a=(1..9000) %}{{ a | group_by_exp: "x", "a | find_exp: 'y', 'y > 99999'" | size }}`,
  ],
])(
  '%s: 400 template_too_slow, and others are answered meanwhile',
  async (_, html) => {
    const { status, body, stall_ms, healthy } = await attackUntilAnswered(html)
    expect({ status, ...body }).toMatchObject({
      status: 400,
      code: 'template_too_slow',
      part: 'html',
      ms: 5_000,
    })
    expect(stall_ms).toBeLessThan(STALL_MS_MAX)
    expect(healthy).toBeGreaterThan(10)
  },
  120_000,
)

test.each([
  [
    'sort_natural over one long text',
    '{{ v | split: " " | sort_natural | size }}'.repeat(40),
    { v: long },
  ],
  ['a range of 49,999,999', '{% for i in (1..49999999) %}{% endfor %}', {}],
  [
    'arrays that double',
    '{% assign a=(1..100000) %}{% for i in (1..9) %}{% assign a = a | concat: a %}{% endfor %}',
    {},
  ],
  [
    'lists in lists that double',
    '{% assign a = "ab" | split: "" %}{% for i in (1..40) %}{% assign a = a | push: a %}{% endfor %}{{ a | join: "" | size }}',
    {},
  ],
  ['a date of a billion digits', '{{ "now" | date: "%999999999Y" }}', {}],
  ['20,000 elsif', `{% if a %}${'{% elsif b %}'.repeat(19_990)}{% endif %}`, {}],
  ['190,000 or', `{% if a${' or a'.repeat(190_000)} %}{% endif %}`, {}],
])(
  '%s: answered without a 5xx, and others meanwhile',
  async (_, html, variables) => {
    const { status, stall_ms } = await attack(html, variables)
    expect([200, 400]).toContain(status)
    expect(stall_ms).toBeLessThan(STALL_MS_MAX)
  },
  120_000,
)

test('what is cheap is sent while a slow one is rendered', async () => {
  const slow = send('{% for i in (1..99999) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}')
  let isOver = false
  void slow.finally(() => {
    isOver = true
  })
  for (let i = 0; i < 10; i++) expect((await send('{{ i }}', { i })).status).toBe(200)
  expect(isOver).toBe(false)
  // As to others, the answer may be 503 on a busy machine.
  expect(['template_too_slow', 'service_unavailable']).toContain((await slow).body.code)
}, 60_000)
