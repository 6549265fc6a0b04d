// Paging through suppressions while one of them is made longer: it is not skipped.
import { expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { recordSoftBounce } from '../../db/suppressions/softBounces.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import { createTestApi } from '../setup/api.ts'

interface Page {
  suppressions: { email: string; created: number; expires_at: number }[]
  cursor: string | null
}

const DAY_MS = 86_400_000
const PAGE = 50
let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { deps, workspaceId } = api
const email = 'first@example.test'

const page = (query = '') => api.request<Page>('GET', `/v1/suppressions${query}`)
const inOne = (work: (trx: Trx) => Promise<unknown>) => transact(deps, ({ db }) => work(db))
/** Three days on which mail bounces, today the last of them. */
async function bounceThrice() {
  for (const daysAgo of [2, 1, 0]) {
    const at = new Date(time - daysAgo * DAY_MS)
    await inOne((trx) => recordSoftBounce(trx, { workspaceId, email, emailId: 'em_2', at }))
  }
}

it('keeps the place of an address that a bounce suppresses for longer', async () => {
  const created = time
  const row = { email, reason: 'bounce', source_id: 'em_1' } as const
  const expires_at = new Date(time + DAY_MS)
  await inOne((trx) => upsertSuppression(trx, workspaceId, { ...row, expires_at }, new Date(time)))
  for (let i = 0; i < PAGE; i++) {
    time += 1
    await api.request('POST', '/v1/suppressions', { email: `r${i}@example.test` })
  }
  const first = await page()
  expect(first.body.suppressions.map((one) => one.email)).not.toContain(email)
  // Mail that was under way bounces while a client pages.
  await bounceThrice()
  const second = await page(`?cursor=${first.body.cursor}`)
  expect(second.body.suppressions).toMatchObject([{ email, created, source_id: 'em_2' }])

  // One that has run out is a new one.
  time = (second.body.suppressions[0]?.expires_at ?? 0) + 1
  await bounceThrice()
  expect((await page()).body.suppressions[0]).toMatchObject({ email, created: time })
})
