// What a statement has read is let go of once it is done, by the small collections already.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase({ poolSize: 1 })
setFlagsFromString('--expose-gc')
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc')

it('leaves no rows of statements that are done to full collections', async () => {
  const read = () => sql`select i, 'row ' || i as name from generate_series(1, 1000) i`.execute(db)
  const readSome = async () => {
    for (let n = 0; n < 50; n++) await read()
  }
  // Twice, because what one small collection leaves the next one may still take.
  const kept = () => {
    collect({ type: 'minor' })
    collect({ type: 'minor' })
    return process.memoryUsage().heapUsed
  }
  await readSome()
  collect()
  const before = kept()
  await readSome()
  const kilobytes = (kept() - before) / 1024
  // The rows of one such statement are some 150 KB.
  expect(kilobytes).toBeLessThan(10 * 150)
})
