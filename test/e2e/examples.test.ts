// Every example of the interface description, asked for by its printed curl and TypeScript: the service answers so.
import { afterAll, expect, test } from 'vitest'
import { automationStory } from '../setup/automationStory.ts'
import { createTestDatabase } from '../setup/database.ts'
import { readExamples, tellStory } from '../setup/examples.ts'
import { createHarness } from '../setup/harness.ts'
import { startNameServer } from '../setup/nameServer.ts'
import { sendingEnv, sendingStory } from '../setup/sendingStory.ts'

const database = await createTestDatabase()
const names = await startNameServer({ 'example.com': '' })
afterAll(() => names.close())

const sending = sendingStory(names)

test.for([
  ['sending', 'curl', sending],
  ['sending', 'TypeScript', sending],
  ['automation', 'curl', automationStory],
  ['automation', 'TypeScript', automationStory],
] as const)('%s, by %s', { timeout: 180_000 }, async ([, label, story]) => {
  await tellStory(await createHarness(database, { env: sendingEnv(names) }), label, story)
})

test('each operation is in one of the stories', async () => {
  const h = await createHarness(database, { workers: 0 })
  const described = [...(await readExamples(h.api.url)).keys()].sort()
  expect([...sending, ...automationStory].map(({ name }) => name).sort()).toEqual(described)
})
