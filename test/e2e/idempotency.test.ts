// kill -9 of the API around the commit of a request with an Idempotency-Key: before it, the repetition does the work; after it, it gets
// the answer that nobody heard.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const PRELOADED = new URL('../setup/killAtAnswer.mjs', import.meta.url)

const database = await createTestDatabase()
const { db } = database

const requests = [
  ['/v1/emails', { from: 'a@sender.test', to: 'b@example.test', subject: 'S', text: 'T' }],
  ['/v1/automation/events', { event_name: 'order.placed', email: 'ada@example.test' }],
  ['/v1/audiences', { name: 'Readers' }],
] as const

/** What the requests make. */
const rows = async () => {
  const counts = (['emails', 'automation_events', 'audiences'] as const).map(
    async (table) =>
      (
        await db
          .selectFrom(table)
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .executeTakeFirst()
      )?.n ?? 0,
  )
  return (await Promise.all(counts)).reduce((sum, n) => sum + n, 0)
}

test('a killed API leaves the work with its answer, or neither', { timeout: 240_000 }, async () => {
  const plan = join(inject('runFolder'), uniqueName('plan'))
  writeFileSync(plan, '')
  const env = { NODE_OPTIONS: `--import ${PRELOADED.href}`, KILL_PLAN: plan }
  const h = await createHarness(database, { env, workers: 0 })
  let made = 0
  for (const moment of ['answer', 'commit'] as const) {
    for (const [path, body] of requests) {
      const key = { 'idempotency-key': uniqueName('key') }
      writeFileSync(plan, moment)
      await expect(h.request('POST', path, body, key)).rejects.toThrow()
      writeFileSync(plan, '')
      await h.api.kill()
      await h.api.start()
      // Postgres takes a moment to notice that the one who held the key has gone.
      const again = await eventually(async () => {
        const answer = await h.request('POST', path, body, key)
        expect([answer.status, answer.body]).not.toEqual([409, expect.anything()])
        return answer
      })
      made += 1
      expect([moment, path, again.status < 300, await rows()]).toEqual([moment, path, true, made])
      expect(again.headers.get('idempotent-replayed')).toBe(moment === 'answer' ? 'true' : null)
      const third = await h.request('POST', path, body, key)
      expect([third.status, third.body]).toEqual([again.status, again.body])
      expect([third.headers.get('idempotent-replayed'), await rows()]).toEqual(['true', made])
    }
  }
})
