// State files: whose are those of dead processes, and where they may stand.
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { identifyProcess, isDead } from '../../../runtime/watchdog/identity.ts'
import * as stateFile from '../../../runtime/watchdog/stateFile.ts'

const own = identifyProcess()
const mark = { kind: 'segment', id: 'exec_1', step: 'a', alone: false } as const

function newFolder(): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'dripline-state-')), 'worker')
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true }))
  stateFile.prepareFolder(folder)
  return folder
}

describe('a process', () => {
  const dead = { ...own, run: 'another' }
  test.each([
    ['is this one', own, false],
    ['had the pid of this one, as in a container', dead, true],
    ['runs beside this one', { ...dead, pid: process.ppid, began: beganOf(process.ppid) }, false],
    ['had a pid that another process has now', { ...dead, pid: process.ppid, began: '1' }, true],
    ['has no process any more', { ...dead, pid: 2 ** 22 + 1 }, true],
    ['of another container was heard of just now', { ...dead, machine: 'other' }, false],
  ])('that %s', (_name, identity, is) => {
    expect(isDead(identity, own, 1_000)).toBe(is)
  })
  test('of another container was not heard of for a minute', () => {
    expect(isDead({ ...dead, machine: 'other' }, own, 60_000)).toBe(true)
  })
})

/** When a process began, as its own identity has it. */
function beganOf(pid: number): string {
  const { ctimeMs } = statSync(`/proc/${pid}`, { throwIfNoEntry: false }) ?? { ctimeMs: 0 }
  expect(ctimeMs).toBeGreaterThan(0)
  return identifyProcess(pid).began
}

test('the folder is for its owner alone, and one that others may write is refused', () => {
  const folder = newFolder()
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  chmodSync(folder, 0o777)
  expect(() => stateFile.prepareFolder(folder)).toThrow('can be written by other users')
})

test('files of a living process, of another service and unreadable ones are left alone', () => {
  const folder = newFolder()
  const alive = stateFile.createStateFile({ folder, service: 'mine' }, own)
  const gone = { ...own, run: 'gone' }
  stateFile.createStateFile({ folder, service: 'mine' }, gone).write(mark)
  stateFile.createStateFile({ folder, service: 'other' }, { ...own, run: 'else' }).write(mark)
  writeFileSync(join(folder, 'mine-broken.state'), 'x')

  const left = stateFile.listLeftBehind({ folder, service: 'mine' }, own)
  expect(left).toMatchObject([{ run: 'gone', mark }])
  for (const one of left) stateFile.forget(one)
  expect(stateFile.listLeftBehind({ folder, service: 'mine' }, own)).toEqual([])
  alive.close()
  expect(readdirSync(folder).sort()).toEqual(['mine-broken.state', 'other-else.state'])
})

test('what stands in the file is the last mark, whole, however long those before were', () => {
  const folder = newFolder()
  const file = stateFile.createStateFile({ folder, service: 'mine' }, own)
  const long = { ...mark, id: `exec_${'1'.repeat(40)}`, step: 's'.repeat(64) }
  const path = join(folder, readdirSync(folder)[0] ?? '')
  for (const one of [long, mark, null, mark]) {
    file.write(one)
    expect(stateFile.readStateFile(path)).toMatchObject({ identity: own, mark: one })
    expect(stateFile.readMark(file.fd)).toEqual(one)
  }
  const before = new Date(Date.now() - 60_000)
  utimesSync(path, before, before)
  expect(stateFile.readStateFile(path)?.silent_ms).toBeGreaterThan(50_000)
  expect(stateFile.touchStateFile(file.fd)).toBe(true)
  expect(stateFile.readStateFile(path)?.silent_ms).toBeLessThan(50_000)
  rmSync(path)
  expect(stateFile.touchStateFile(file.fd)).toBe(false)
  expect(stateFile.readMark(file.fd)).toEqual(mark)
  file.close()
})
