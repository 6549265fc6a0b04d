// What is said of a child that ended at its start: why, its own last lines without stack traces, and its log.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { endOf } from '../../../dev/processes/endOf.ts'
import { startChild } from '../../../dev/processes/processes.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dripline-end-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a script of Node to its end; the log holds a line of an earlier run before. */
async function endOfScript(script: string): Promise<string[]> {
  const logFile = join(folder, 'child.log')
  writeFileSync(logFile, 'an earlier run: No space left on device\n')
  const args = ['-e', script]
  const child = await startChild({ name: 'child', command: process.execPath, args, logFile })
  return endOf(child, await child.exited).split('\n')
}

test('an uncaught error is named, without its stack and without lines of earlier runs', async () => {
  const [sentence, ...lines] = await endOfScript(`throw new Error('the key is missing')`)
  expect(sentence).toBe('child ended at its start: its last lines say why.')
  expect(lines).toContain('    Error: the key is missing')
  expect(lines.join('\n')).not.toMatch(/ at |Node\.js v|earlier run/)
  expect(lines.at(-1)).toBe(`  Its log: ${join(folder, 'child.log')}`)
})

test('a line of our own logs is shown in words', async () => {
  const line = JSON.stringify({ level: 60, msg: 'cannot start', err: { message: 'no database' } })
  const lines = await endOfScript(`console.log(${JSON.stringify(line)}); process.exit(1)`)
  expect(lines).toContain('    cannot start: no database')
})

test.each([
  [`console.error('could not extend file: No space left on device')`, /: the disk is full: make/],
  [`console.error('FATAL: could not map memory: Cannot allocate memory')`, /: memory ran out: /],
  [`console.error('listen EADDRINUSE: address already in use')`, /took its port .*: start again/],
  [`process.kill(process.pid, 'SIGKILL')`, /was ended by SIGKILL at its start: memory ran out/],
])('%s: the reason is recognised', async (script, said) => {
  const wait = 'setTimeout(() => process.exit(1), 50)'
  expect((await endOfScript(`${script}; ${wait}`))[0]).toMatch(said)
})

test('one that is not ready in time still runs', async () => {
  const logFile = join(folder, 'slow.log')
  const args = ['-e', 'setInterval(() => {}, 1000)']
  const child = await startChild({ name: 'slow', command: process.execPath, args, logFile })
  expect(endOf(child, undefined)).toMatch(/^slow did not get ready in time: /)
  await child.kill()
})
