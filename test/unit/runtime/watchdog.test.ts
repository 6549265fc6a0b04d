// The watchdog in processes of its own: who stalls or dies at work leaves its mark, who merely waits leaves none.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { identifyProcess } from '../../../runtime/watchdog/identity.ts'
import { forget, listLeftBehind } from '../../../runtime/watchdog/stateFile.ts'

const CHILD = join(import.meta.dirname, '../../setup/watchedChild.ts')

/** Runs the child to its end, or kills it when it has printed `killAt`. */
async function runChild(how: string, killAt?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-watchdog-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, how, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
    if (killAt !== undefined && output.includes(killAt)) child.kill('SIGKILL')
  })
  const signal = await new Promise((resolve) => child.once('exit', (_code, by) => resolve(by)))
  const left = listLeftBehind({ folder, service: 'test' }, identifyProcess())
  return {
    signal,
    folder,
    left,
    lines: output.trim().split('\n').slice(1),
    run: output.split(/\s/)[1],
  }
}

const marked = (how: string, more = {}) => ({
  ...{ kind: 'segment', id: `exec_${how}`, step: '', alone: false },
  ...more,
})

test('work that never comes back is seen, and the process ended, with the step in its mark', async () => {
  const { signal, left, lines, run } = await runChild('stall-alone')
  const mark = marked('stall-alone', { step: 'heavy', alone: true })
  expect(signal).toBe('SIGKILL')
  expect(lines).toEqual([`stalled ${JSON.stringify(mark)}`, `overdue ${JSON.stringify(mark)}`])
  expect(left).toEqual([{ path: expect.any(String), run, mark }])
})

test('a thread that has ended is started again, and sees the stall', async () => {
  const { signal, lines } = await runChild('thread-ends')
  expect(signal).toBe('SIGKILL')
  expect(lines).toEqual([
    `stalled ${JSON.stringify(marked('thread-ends', { step: 'heavy' }))}`,
    `overdue ${JSON.stringify(marked('thread-ends', { step: 'heavy' }))}`,
  ])
})

test('when somebody removed the state file, a stall is seen all the same', async () => {
  const { signal, lines, left } = await runChild('removed')
  expect(signal).toBe('SIGKILL')
  expect(lines).toHaveLength(2)
  expect(left).toEqual([])
})

test('work that comes back late is seen, and the process goes on', async () => {
  const { signal, left, lines, folder } = await runChild('late')
  expect(signal).toBeNull()
  expect(lines).toEqual([`stalled ${JSON.stringify(marked('late'))}`])
  expect(left).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

test('a process that dies within the work leaves the mark, until it is forgotten', async () => {
  const { signal, left, folder } = await runChild('dies')
  expect(signal).toBe('SIGKILL')
  expect(left).toMatchObject([{ mark: marked('dies') }])
  for (const one of left) forget(one)
  expect(readdirSync(folder)).toEqual([])
})

test('one that is killed while it merely waits is blamed on nothing', async () => {
  const { signal, left } = await runChild('waits', 'waiting')
  expect(signal).toBe('SIGKILL')
  expect(left).toMatchObject([{ mark: null }])
})

test('work that throws has ended', async () => {
  expect((await runChild('throws')).left).toMatchObject([{ mark: null }])
})

test.each(['unmarked', 'busy'])('a main thread that is %s is no stall', async (how) => {
  const { signal, lines, folder } = await runChild(how)
  expect(signal).toBeNull()
  expect(lines).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})
