// The mail of a new domain with a real worker: today's places are sent, and transactional mail beyond them; the rest waits for
// tomorrow without an attempt, and goes out once an operator calls the domain warm.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { runOperator } from '../setup/operator.ts'

const database = await createTestDatabase()
const HOUR_MS = 3_600_000

/** Recipients with such a domain get a campaign, whatever sends the mail. */
await sql`
  create function as_campaign() returns trigger language plpgsql as $$
  begin
    new.class := 2;
    return new;
  end $$`.execute(database.db)
await sql`
  create trigger as_campaign before insert on deliveries for each row
  when (new.recipient like '%@list%') execute function as_campaign()`.execute(database.db)

const warmUp = (url: string, words: string[], env: Record<string, string> = {}) =>
  runOperator('warmUp', words, { DATABASE_URL: url, DELIVERY_MODE: 'mx', ...env })

test('a new domain sends its first 150 today and its receipts; an operator lets the others go', {
  timeout: 120_000,
}, async () => {
  const h = await createHarness(database, { env: { DELIVERY_LANES: '4', WARM_UP: 'true' } })
  const { db, domainId } = h
  await db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
  const send = (to: string[]) =>
    h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'Hi', text: 'Hi' })
  const counts = async () => {
    const found = await db.selectFrom('deliveries').selectAll().execute()
    const waiting = found.filter(({ state }) => state === 'queued')
    return { delivered: found.filter(({ state }) => state === 'delivered').length, waiting }
  }
  for (let i = 0; i < 5; i++) {
    await send(Array.from({ length: 50 }, (_, n) => `user${i * 50 + n}@list${n}.test`))
  }
  await eventually(
    async () => {
      const { delivered, waiting } = await counts()
      expect([delivered, waiting.filter(({ ready }) => !ready).length]).toEqual([150, 100])
    },
    { deadline_ms: 30_000 },
  )
  await send(Array.from({ length: 20 }, (_, n) => `user${n}@shop${n}.test`))
  const { waiting } = await eventually(
    async () => {
      const found = await counts()
      expect([found.delivered, found.waiting.length]).toEqual([170, 100])
      return found
    },
    { deadline_ms: 30_000 },
  )
  const midnight = new Date().setUTCHours(24, 0, 0, 0)
  for (const { attempt, slot_day, next_at, expires_at, created_at } of waiting) {
    expect([attempt, slot_day]).toEqual([0, null])
    expect(next_at.getTime()).toBeGreaterThanOrEqual(midnight)
    expect(next_at.getTime()).toBeLessThan(midnight + 2 * HOUR_MS)
    const life_ms = expires_at.getTime() - created_at.getTime()
    expect(life_ms - 24 * HOUR_MS).toBeGreaterThan(next_at.getTime() - Date.now() - 60_000)
  }
  const worker = h.workers[0]?.url ?? ''
  const text = await (await fetch(`${worker}/metrics`)).text()
  expect(text).toMatch(/^dripline_warm_up_put_off_total\{.*\} 100$/m)

  const url = h.service.databaseUrl
  const state = `sender.test (${domainId}): step 1 of 13, 170 of 150 places of today (UTC) used; 100 mails wait`
  expect((await warmUp(url, ['sender.test'])).stdout).toContain(state)
  const done = await warmUp(url, ['sender.test', 'done'])
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(done.stdout).toMatch(/^sender\.test \(dom_\w+\): warm since 20.*; 0 mails wait/)
  await eventually(async () => expect((await counts()).delivered).toBe(270), {
    deadline_ms: 30_000,
  })

  await warmUp(url, [domainId, 'restart'])
  const [anew] = JSON.parse((await warmUp(url, ['--json'])).stdout)
  expect(anew).toMatchObject({ id: domainId, step: 1, places: 150, used: 0, waiting: 0 })
})

test('a command that is not clear changes nothing and says what to do', async () => {
  const h = await createHarness(database, { workers: 0 })
  const url = h.service.databaseUrl
  const several = await warmUp(url, ['sender.test', 'done'])
  expect(several.code).toBe(2)
  expect(several.stderr).toMatch(/Name one by its id:\n {2}dom_\w+ of workspace ws_\w+\n/)
  const other = await warmUp(url, ['sender.test', 'now'])
  expect([other.code, other.stderr.split('\n')[0]]).toEqual([
    2,
    "'now' is unknown: say done or restart, or nothing to see the state",
  ])
  const unknown = await warmUp(url, ['other.test', 'done'])
  expect([unknown.code, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toMatch(/^No domain is called other\.test\.\n/)
  const relay = await warmUp(url, [h.domainId], { DELIVERY_MODE: 'relay' })
  expect(relay.stdout).toMatch(/: warm since .*\nWith this environment .* WARM_UP is off\.\n$/)
})

test('a relay gets all mail of a new domain', async () => {
  const h = await createHarness(database)
  await h.db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
  for (let i = 0; i < 4; i++) {
    const to = Array.from({ length: 50 }, (_, n) => `user${i * 50 + n}@list${n}.test`)
    await h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'Hi', text: 'Hi' })
  }
  await eventually(() => expect(h.smtp.mails).toHaveLength(200), { deadline_ms: 30_000 })
})
