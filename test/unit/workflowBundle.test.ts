// The bundle of the workflow functions: its size, and code that must not be in it.
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'

const KIBIBYTE = 1024
/** Size of the built bundle with its source map. Nearly all of it is code of the SDK. */
const SIZE_MAX = 1750 * KIBIBYTE

async function build(entry: string): Promise<string> {
  const workflowsPath = fileURLToPath(new URL(entry, import.meta.url))
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
  return code
}

/** Nodes and time zones are for the activities. */
const inside = [
  'node_modules/zod/',
  'node_modules/temporal-polyfill/',
  './rules/nodes/',
  './rules/time/',
  './rules/interpreter.ts',
]

/** Code that must not be in the bundle. */
const foreign = (code: string) => inside.filter((path) => code.includes(path))

test('the workflow bundle has under 1750 KiB (1662 so far), no zod, no node kinds and no time zones', async () => {
  const code = await build('../../workflows/index.ts')
  expect(foreign(code)).toEqual([])
  expect(code).toContain('./workflows/runExecution.ts')
  const size = Buffer.byteLength(code)
  expect(size, `it has ${Math.round(size / KIBIBYTE)} KiB`).toBeLessThan(SIZE_MAX)
}, 60_000)

test('a bundle with the interpreter, and so with the node kinds, fails the check', async () => {
  const code = await build('../../rules/interpreter.ts')
  expect(foreign(code)).toEqual(inside)
}, 60_000)
