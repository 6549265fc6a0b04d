// Limits that an operator sets while the service runs: the API refuses, mail of workflows waits untried, and both end with them.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { runOperator } from '../setup/operator.ts'

const database = await createTestDatabase()

const limits = (words: string[]) => runOperator('limits', words, { DATABASE_URL: database.url })

const mail = { from: 'a@sender.test', to: 'you@example.test', subject: 'Hi', text: 'Hi' }

test('an operator limits a workspace and a key, sees it, and lifts it', {
  timeout: 180_000,
}, async () => {
  const h = await createHarness(database)
  const send = () => h.request<{ code?: string }>('POST', '/v1/emails', mail)
  const flow = { name: 'Welcome', status: 'active', design: welcomeDesign }
  expect((await h.request('POST', '/v1/workflows', flow)).status).toBe(201)

  const shown = await limits(['--workspace', h.workspaceId, '--emails-per-day', '0'])
  expect(shown).toEqual({
    code: 0,
    stdout: `${h.workspaceId}: 0 emails a day, 0 places of today (UTC) taken\n`,
    stderr: '',
  })
  const refused = await eventually(async () => {
    const answer = await send()
    expect([answer.status, answer.body.code]).toEqual([429, 'daily_limit'])
    return answer
  })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  const event = { event_name: 'user.signed_up', email: 'ada@example.test' }
  expect((await h.request('POST', '/v1/automation/events', event)).status).toBe(202)
  const waiting = await eventually(async () => {
    const row = await h.db
      .selectFrom('deliveries')
      .selectAll()
      .where('recipient', '=', 'ada@example.test')
      .executeTakeFirstOrThrow()
    expect(row.last_response).toMatch(/^it waits: its workspace/)
    return row
  })
  expect([waiting.state, waiting.attempt, waiting.ready]).toEqual(['queued', 0, false])
  expect(waiting.next_at.getTime()).toBeGreaterThan(waiting.created_at.getTime())

  // The key of another workspace is not limited by this, and one that is unknown is said so.
  const none = await limits(['--key', `key_${'0'.repeat(26)}`])
  expect([none.code, none.stdout]).toEqual([1, ''])
  const { body } = await h.request<{ api_keys: { id: string }[] }>('GET', '/v1/api-keys')
  const key = body.api_keys[0]?.id ?? ''
  await limits(['--workspace', h.workspaceId, '--emails-per-day', 'off'])
  const both = await limits(['--key', key, '--per-second', '0.001', '--burst', '2', '--json'])
  expect(JSON.parse(both.stdout)).toEqual([
    {
      subject: key,
      workspace_id: h.workspaceId,
      per_second: 0.001,
      burst: 2,
      emails_per_day: null,
      used_today: null,
    },
  ])
  await eventually(async () => {
    const answer = await h.request<{ code: string }>('GET', '/v1/audiences')
    expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited'])
    expect(answer.headers.get('ratelimit-limit')).toBe('2')
  })
  expect((await limits(['--key', key, '--per-second', 'off'])).stdout).toBe(
    `test (${key}) has no limits.\n`,
  )
  await eventually(async () => expect((await send()).status).toBe(200))
  expect((await limits([])).stdout).toBe('Nothing is limited.\n')
})

const wrong: [words: string[], text: string][] = [
  [['--emails-per-day', '5'], 'Name the --workspace or the --key'],
  [['--workspace', 'a', '--key', 'b'], 'not both'],
  [
    ['--key', 'a', '--per-second', '0'],
    "--per-second is a number from 0.0001 to 1000000000, or off, not '0'",
  ],
  [['--key', 'a', '--burst', '1.5'], '--burst is a whole number from 1'],
  [['--key', 'a', '--emails-per-day=-1'], '--emails-per-day is a whole number from 0'],
  [['--key', 'a', '--emails-per-day', 'many'], "or off, not 'many'"],
]

test('wrong words exit 2 with what is wrong', { timeout: 120_000 }, async () => {
  const outputs = await Promise.all(wrong.map(([words]) => limits(words)))
  for (const [i, { code, stdout, stderr }] of outputs.entries()) {
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(wrong[i]?.[1])
    expect(stderr).toContain('Usage: npm run limits')
  }
})

test('a burst without requests a second is refused, and nothing is written', {
  timeout: 120_000,
}, async () => {
  const h = await createHarness(database, { workers: 0 })
  const { code, stderr } = await limits(['--workspace', h.workspaceId, '--burst', '5'])
  expect([code, stderr.split('\n')[0]]).toEqual([2, '--burst says nothing without --per-second'])
  expect(await database.db.selectFrom('rate_limits').selectAll().execute()).toEqual([])
})
