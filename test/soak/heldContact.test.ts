// A contact's row is locked for a whole minute under load, as in test/e2e/heldContact.test.ts.
import { test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { holdUnderLoad } from '../setup/holding.ts'

const HOLD_MS = 60_000

const database = await createTestDatabase()

test('a contact that is locked for a minute', async () => {
  console.log('held:', JSON.stringify(await holdUnderLoad(database, HOLD_MS)))
})
