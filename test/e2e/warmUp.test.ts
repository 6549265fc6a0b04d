// The mail of a new domain with a real worker: today's places are sent, the rest waits for later days without an
// attempt.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()

test('a domain that is not warm sends its first 150 today, the others have their day', async () => {
  const h = await createHarness(database, { env: { DELIVERY_LANES: '4' } })
  const { db } = h
  await db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
  const total = 250
  for (let i = 0; i < total / 50; i++) {
    const to = Array.from({ length: 50 }, (_, n) => `user${i * 50 + n}@d${n}.test`)
    await h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'Hi', text: 'Hi' })
  }
  const rows = await eventually(
    async () => {
      const found = await db.selectFrom('deliveries').selectAll().execute()
      const delivered = found.filter(({ state }) => state === 'delivered')
      const waiting = found.filter(({ state, slot_day }) => state === 'queued' && slot_day !== null)
      expect([delivered.length, waiting.length]).toEqual([150, total - 150])
      return { waiting }
    },
    { deadline_ms: 30_000 },
  )
  expect(h.smtp.mails).toHaveLength(150)
  const midnight = new Date(new Date().setUTCHours(24, 0, 0, 0))
  for (const { attempt, next_at, expires_at, created_at } of rows.waiting) {
    expect(attempt).toBe(0)
    expect(next_at.getTime()).toBeGreaterThanOrEqual(midnight.getTime())
    expect(next_at.getTime()).toBeLessThan(midnight.getTime() + 24 * 3_600_000)
    const life_ms = expires_at.getTime() - created_at.getTime()
    expect(life_ms - 24 * 3_600_000).toBeGreaterThan(next_at.getTime() - Date.now() - 60_000)
  }
  const worker = h.workers[0]?.url ?? ''
  const text = await (await fetch(`${worker}/metrics`)).text()
  expect(text).toMatch(new RegExp(`^dripline_warm_up_put_off_total\\{.*\\} ${total - 150}$`, 'm'))
})

test('with WARM_UP=false a new domain sends everything', async () => {
  const h = await createHarness(database, { env: { WARM_UP: 'false' } })
  await h.db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
  for (let i = 0; i < 4; i++) {
    const to = Array.from({ length: 50 }, (_, n) => `user${i * 50 + n}@d${n}.test`)
    await h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'Hi', text: 'Hi' })
  }
  await eventually(() => expect(h.smtp.mails).toHaveLength(200), { deadline_ms: 30_000 })
})
