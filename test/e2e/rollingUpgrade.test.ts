// Processes of the release before beside those of this one: its worker writes to nobody, and what its API and its worker
// accept is sent by the worker of this release, in the right class.
import { expect, test } from 'vitest'
import { acceptBefore, claimBefore } from '../setup/before.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'

const MAILS = 12
const { url, db, pool } = await createTestDatabase()

test('an old worker claims nothing, and the mail of an old API is sent once by a new worker', {
  timeout: 120_000,
}, async () => {
  const h = await createHarness({ url, db })
  const [worker] = h.workers
  await worker?.kill()
  const workflow = { workflowId: 'wf_before', executionId: 'exec_before' }
  const write = async (round: number) => {
    for (const [kind, sent] of [
      ['api', undefined],
      ['receipt', { ...workflow, category: 'transactional' }],
      ['news', { ...workflow, category: 'marketing' }],
    ] as const) {
      await acceptBefore(pool, h, `${kind}${round}@d${round}.test`, sent)
    }
  }
  const oldClaim = async () => {
    const { rows } = await pool.query(claimBefore.text, claimBefore.values())
    return rows.length
  }

  await write(0)
  await expect(oldClaim()).rejects.toThrow('deliveries_fence')
  await worker?.start()
  for (let round = 1; round < MAILS; round++) {
    await write(round)
    // It finds nothing that a lane of this release has not claimed already, or is refused.
    expect(await oldClaim().catch((err: Error) => err.message)).toSatisfy(
      (said: number | string) => said === 0 || /deliveries_fence/.test(String(said)),
    )
  }
  const stored = await eventually(
    async () => {
      const rows = await db.selectFrom('deliveries').selectAll().orderBy('id').execute()
      expect(rows.filter(({ state }) => state !== 'delivered')).toEqual([])
      return rows
    },
    { deadline_ms: 60_000 },
  )
  expect(stored).toHaveLength(3 * MAILS)
  // One attempt each, and one message each.
  expect(stored.filter(({ attempt }) => attempt !== 1)).toEqual([])
  expect(stored.map(({ recipient }) => h.smtp.mailsTo(recipient).length)).toEqual(
    Array(stored.length).fill(1),
  )
  expect([...h.smtp.attempts.values()]).toEqual(Array(stored.length).fill(1))
  const classes = new Set(
    stored.map(({ recipient, class: place }) => `${/^[a-z]+/.exec(recipient)} ${place}`),
  )
  expect([...classes].sort()).toEqual(['api 0', 'news 1', 'receipt 0'])
  const news = stored.filter(({ recipient }) => recipient.startsWith('news'))
  expect(news.map(({ destination }) => destination)).toEqual(
    news.map(({ recipient }) => recipient.split('@')[1]),
  )
})
