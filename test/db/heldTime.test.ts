// Mail that waits while a breaker is open: automation and broadcast mail keeps the time it has left, and goes out when the
// breaker closes; transactional mail expires as always.
import { expect, onTestFinished, test } from 'vitest'
import { mailClasses } from '../../rules/mail/classes.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { startSmtp } from '../setup/smtp.ts'

const HOUR_MS = 60 * 60_000
const DEADLINE_MS = 90_000

const database = await createTestDatabase()
const { db } = database
const { workspaceId, domainId } = await seedWorkspace(db)

test('behind an open breaker only transactional mail expires, and what is seven days old', {
  timeout: 300_000,
}, async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  smtp.setScript(() => ({ at: 'rcpt', reply: '535 5.7.8 Authentication failed' }))
  let ahead_ms = 0
  const now = () => new Date(Date.now() + ahead_ms)
  const worker = createTestWorker(database, smtp.url, { now, config: { leaseMs: 24 * HOUR_MS } })
  for (const [place, name] of mailClasses.entries()) {
    for (let n = 0; n < 5; n++) {
      const to = [`${name}${n}@example.test`]
      const id = await acceptMail({ db, workspaceId, domainId }, { to, text: 'Hello' })
      const expires_at = new Date(Date.now() + 3 * HOUR_MS)
      await db
        .updateTable('deliveries')
        .set({ class: place, expires_at })
        .where('email_id', '=', id)
        .execute()
    }
  }
  const old = await acceptMail(
    { db, workspaceId, domainId },
    { to: ['old@old.test'], text: 'Hello' },
  )
  await db
    .updateTable('deliveries')
    .set({
      class: mailClasses.indexOf('broadcast'),
      created_at: new Date(Date.now() - 7 * 24 * HOUR_MS + HOUR_MS),
      expires_at: new Date(Date.now() + 3 * HOUR_MS),
    })
    .where('email_id', '=', old)
    .execute()
  await worker.own({ lane: 0, lanes: 1 })
  const rows = () =>
    db
      .selectFrom('deliveries')
      .select(['email_id', 'class', 'state', 'next_at', 'expires_at'])
      .execute()

  // Five hours pass in steps, so that all of it is looked at again and again.
  const until = Date.now() + 5 * HOUR_MS
  await eventually(
    async () => {
      ahead_ms += 2 * 60_000
      worker.wake()
      expect(now().getTime()).toBeGreaterThan(until)
    },
    { deadline_ms: DEADLINE_MS },
  )
  await eventually(
    async () => {
      worker.wake()
      for (const row of await rows()) {
        const isOver = row.class === 0 || row.email_id === old
        expect(row.state).toMatch(isOver ? /bounced/ : /queued|deferred/)
        // What is left of the three hours, less what passed before the breaker opened and between tries.
        if (!isOver) {
          const left_ms = row.expires_at.getTime() - Math.max(row.next_at.getTime(), until)
          expect(left_ms).toBeGreaterThan(2.5 * HOUR_MS)
          expect(left_ms).toBeLessThan(3.5 * HOUR_MS)
        }
      }
    },
    { deadline_ms: DEADLINE_MS },
  )

  smtp.setScript({})
  await eventually(
    async () => {
      ahead_ms += 1_000
      worker.wake()
      const sent = (await rows()).filter(({ state }) => state === 'delivered')
      expect(sent.map((row) => row.class).sort()).toEqual([
        ...Array(5).fill(1),
        ...Array(5).fill(2),
      ])
    },
    { deadline_ms: DEADLINE_MS },
  )
})
