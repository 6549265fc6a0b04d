// What an operator sees: attempts with their conversations, metrics, and soft bounces that add up.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()

interface Attempts {
  count: number
  attempts: {
    recipient: string
    attempt: number
    started_at: number
    ended_at: number
    outcome: string
    phase: string
    code: number | null
    response: string
    host: string | null
    address: string | null
    conversation: { at_ms: number; from: string; text: string }[]
  }[]
}

test('each attempt is kept with its conversation, and /metrics counts it', async () => {
  const began = Date.now()
  const h = await createHarness(database)
  h.smtp.setScript({
    gone: { at: 'rcpt', reply: '550 5.1.1 no such user here' },
    later: [{ at: 'dot', reply: '451 4.3.0 try again in 1 second' }],
  })
  const { body } = await h.request<{ id: string }>('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to: ['later@example.test', 'gone@example.test'],
    subject: 'Hello',
    text: 'A secret of the body',
  })
  const read = await eventually(async () => {
    const answer = await h.request<Attempts>('GET', `/v1/emails/${body.id}/attempts`)
    expect(answer.body.count).toBe(3)
    return answer.body.attempts
  })
  const of = (recipient: string) => read.filter((one) => one.recipient === recipient)
  expect(of('gone@example.test')).toMatchObject([
    { attempt: 1, outcome: 'rejected', phase: 'rcpt', code: 550 },
  ])
  expect(of('later@example.test')).toMatchObject([
    { attempt: 1, outcome: 'rejected', phase: 'dot', code: 451 },
    { attempt: 2, outcome: 'delivered', phase: 'dot', code: 250 },
  ])
  expect(read.at(-1)?.attempt, 'oldest first').toBe(2)
  for (const { started_at, ended_at, response, address } of read) {
    expect(started_at).toBeGreaterThanOrEqual(began)
    expect(ended_at).toBeGreaterThanOrEqual(started_at)
    expect(response).not.toBe('')
    expect(address).toBe(`127.0.0.1:${h.smtp.port}`)
  }
  const said = of('gone@example.test')[0]?.conversation ?? []
  const texts = said.map(({ from, text }) => `${from}: ${text}`)
  expect(texts).toContain('client: RCPT TO:<gone@example.test>')
  expect(texts).toContain('server: 550 5.1.1 no such user here')
  expect(JSON.stringify(read)).not.toContain('A secret of the body')

  const worker = h.workers[0]?.url ?? ''
  const metrics = await eventually(async () => {
    const text = await (await fetch(`${worker}/metrics`)).text()
    expect(text).toMatch(/^dripline_delivery_attempts_total\{.*outcome="delivered".*\} 1$/m)
    return text
  })
  expect(metrics).toMatch(/^dripline_delivery_attempts_total\{.*outcome="rejected_4xx".*\} 1$/m)
  expect(metrics).toMatch(/^dripline_delivery_attempts_total\{.*outcome="rejected_5xx".*\} 1$/m)
  expect(metrics).toMatch(/^dripline_smtp_phase_seconds_count\{.*phase="rcpt".*\} [1-9]/m)
  expect(metrics).toMatch(/^dripline_claim_seconds_count\{.*\} [1-9]/m)
  expect(metrics).toMatch(/^dripline_claimed_deliveries_total\{.*\} 3$/m)
  expect(metrics).toMatch(/^dripline_suppressed_recipients_total\{.*\} 1$/m)
  expect(metrics).toMatch(/^dripline_refusals_total\{.*fault="recipient".*\} 1$/m)
  expect(metrics).toMatch(/^dripline_refusals_total\{.*fault="unknown".*\} 1$/m)
  for (const name of [
    'unknown_deliveries_total',
    'resent_deliveries_total',
    'warm_up_put_off_total',
  ]) {
    expect(metrics).toMatch(new RegExp(`^dripline_${name}\\{.*\\} 0$`, 'm'))
  }
  expect(metrics).not.toContain('@')

  // The queue is counted every few seconds: a waiting delivery is shown with its shard and state.
  h.smtp.setScript({ slow: { at: 'rcpt', reply: '451 4.3.0 try again in 5 minutes' } })
  await h.request('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to: 'slow@example.test',
    subject: 'Hello',
    text: 'Hello',
  })
  await eventually(
    async () => {
      const text = await (await fetch(`${worker}/metrics`)).text()
      const queue = text.split('\n').filter((line) => line.startsWith('dripline_queue_'))
      expect(queue.map((line) => line.replace(/shard="\d+"/, 'shard'))).toEqual([
        'dripline_queue_deliveries{state="deferred",shard,process="worker"} 1',
        'dripline_queue_oldest_seconds{state="deferred",shard,process="worker"} 0',
      ])
    },
    { deadline_ms: 25_000 },
  )
})

test('three days with a full mailbox suppress for thirty days; a delivery between them resets the count', async () => {
  const h = await createHarness(database)
  const full = { at: 'rcpt', reply: '552 5.2.2 mailbox full' } as const
  h.smtp.setScript({ Ada: full, ada: full, bob: [full, { at: 'rcpt', reply: '250 ok' }, full] })
  const days = (email: string) =>
    db
      .selectFrom('soft_bounces')
      .selectAll()
      .where('email', '=', email)
      .where('cleared_by', 'is', null)
      .execute()
  const { db } = h
  const send = async (to: string) => {
    const { body } = await h.request<{ id: string }>('POST', '/v1/emails', {
      from: 'hello@sender.test',
      to,
      subject: 'Hello',
      text: 'Hello',
    })
    await eventually(async () => {
      const row = await db
        .selectFrom('deliveries')
        .select('settled_at')
        .where('email_id', '=', body.id)
        .executeTakeFirstOrThrow()
      expect(row.settled_at).not.toBeNull()
    })
  }
  /** Moves everything that is stored a day into the past. */
  const aDayPasses = () => sql`update soft_bounces set day = day - 1`.execute(db)
  const suppressions = () =>
    db
      .selectFrom('suppressions')
      .select(['email', 'reason', 'created_at', 'expires_at'])
      .where('workspace_id', '=', h.workspaceId)
      .execute()

  await send('Ada@one.test')
  await send('ada@one.test')
  await send('bob@one.test')
  expect(await days('ada@one.test'), 'a day counts once').toHaveLength(1)
  await aDayPasses()
  await send('ada@one.test')
  await send('bob@one.test')
  expect(await days('ada@one.test')).toHaveLength(2)
  expect(await days('bob@one.test'), 'they were delivered to').toEqual([])
  await aDayPasses()
  await send('bob@one.test')
  expect(await suppressions()).toEqual([])
  await send('ada@one.test')
  const [row, ...others] = await suppressions()
  expect([row, others]).toMatchObject([{ email: 'ada@one.test', reason: 'bounce' }, []])
  const left_ms = (row?.expires_at?.getTime() ?? 0) - (row?.created_at.getTime() ?? 0)
  expect(Math.abs(left_ms - 30 * 24 * 3_600_000)).toBeLessThan(60_000)
  expect(await days('ada@one.test'), 'it starts anew').toEqual([])
  expect(await days('bob@one.test')).toHaveLength(1)
})
