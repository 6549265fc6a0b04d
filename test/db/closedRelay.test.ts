// While a breaker is open for all mail of the relay, mail stays in line: it is not claimed and written back again and again.
import { expect, onTestFinished, test } from 'vitest'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { startSmtp } from '../setup/smtp.ts'

const MAILS = 600
/** Under way at once in a lane of the tests, and so the most that a claim takes. */
const CLAIM_MAX = 50
const LOOKS = 50
const DEADLINE_MS = 90_000

const database = await createTestDatabase()
const { db } = database
const { workspaceId, domainId } = await seedWorkspace(db)

test('what waits for a closed relay is not written; it goes out when the relay takes mail again', {
  timeout: 300_000,
}, async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  smtp.setScript(() => ({ at: 'rcpt', reply: '535 5.7.8 Authentication failed' }))
  const to = (n: number) => Array.from({ length: 30 }, (_, i) => `x${n}-${i}@d${i}.test`)
  for (let n = 0; n < MAILS / 30; n++) {
    await acceptMail({ db, workspaceId, domainId }, { to: to(n), text: 'Hello' })
  }
  // A clock that stands still unless the test puts it forward.
  let time = Date.now() + 1_000
  const worker = createTestWorker(database, smtp.url, {
    now: () => new Date(time),
    config: { leaseMs: 24 * 60 * 60_000 },
  })
  await worker.own({ lane: 0, lanes: 1 })
  await eventually(() => expect(worker.breakers.countOpen()).toMatchObject({ account: 1 }))

  const count = async (state: 'touched' | 'waiting') => {
    const rows = await db.selectFrom('deliveries').select(['next_at', 'settled_at']).execute()
    if (state === 'waiting') return rows.filter(({ settled_at }) => settled_at === null).length
    return rows.filter(({ next_at }) => next_at.getTime() > time).length
  }
  // One claim may have begun before it opened, and one after.
  for (let look = 0; look < LOOKS; look++) {
    worker.wake()
    expect(await count('touched')).toBeLessThanOrEqual(2 * CLAIM_MAX)
  }
  expect(await count('waiting')).toBe(MAILS)

  smtp.setScript({})
  await eventually(
    async () => {
      time += 1_000
      worker.wake()
      expect(await count('waiting')).toBe(0)
    },
    { deadline_ms: DEADLINE_MS },
  )
  expect(smtp.mails).toHaveLength(MAILS)
  expect(worker.breakers.countOpen()).toEqual({ sender: 0, address: 0, account: 0 })
})
