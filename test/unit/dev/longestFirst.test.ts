// The order of the files of a run: what a file says of its own time decides, and its size among those that say nothing.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { TestSpecification, Vitest } from 'vitest/node'
import { LongestFirst, longestTime } from '../../setup/longestFirst.ts'

test.each([
  ["test('a', { timeout: 300_000 }, async () => {", 300_000],
  ['const TEST_MS = 60_000\nconst SOON = { deadline_ms: 120_000 }', 120_000],
  ['const CONTACTS = 1_000', 0],
  ['const SEED = 20_261_123', 0],
  ['', 0],
])('%j names %i ms', (source, time_ms) => {
  expect(longestTime(source)).toBe(time_ms)
})

test('those that name the longest time come first, then the largest', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-order-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files = {
    small: '// none',
    short: 'timeout: 60_000',
    long: 'timeout: 600_000',
    large: '// none, and larger',
  }
  const specs = Object.entries(files).map(([name, source]) => {
    writeFileSync(join(folder, name), source)
    return { moduleId: join(folder, name) } as TestSpecification
  })
  const sorted = await new LongestFirst({} as Vitest).sort(specs)
  expect(sorted.map(({ moduleId }) => moduleId.slice(folder.length + 1))).toEqual([
    'long',
    'short',
    'large',
    'small',
  ])
})
