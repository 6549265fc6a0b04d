// A contact's row is locked for much longer than a lease: no mail is sent twice, and nobody else waits.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { holdUnderLoad } from '../setup/holding.ts'

/** Five times the lease of a delivery in tests. A whole minute: npm run soak. */
const HOLD_MS = 15_000

const database = await createTestDatabase()

test('mail to a locked contact and to others is delivered once; only the events of the locked contact come later', {
  timeout: 180_000,
}, async () => {
  const counts = await holdUnderLoad(database, HOLD_MS)
  expect(counts.others).toBeGreaterThan(2)
})
