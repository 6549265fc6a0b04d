// Golden files: expected texts that are kept in test/golden/.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const FOLDER = fileURLToPath(new URL('../golden/', import.meta.url))

/** Compares a text with test/golden/`name`. With UPDATE_GOLDEN=1 it writes the file instead. */
export function expectGolden(name: string, text: string): void {
  const file = FOLDER + name
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, text)
  const golden = existsSync(file) ? readFileSync(file, 'utf8') : 'none yet: UPDATE_GOLDEN=1'
  expect(text, `test/golden/${name}; UPDATE_GOLDEN=1 rewrites it`).toBe(golden)
}
