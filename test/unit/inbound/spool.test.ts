// Messages while they come: in memory while they are small, in files beyond that, and nothing is left of them.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSpool } from '../../../inbound/submission/spool.ts'

function open(filesMax = 4_000) {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-spool-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const spool = createSpool(folder, { messageMemoryMax: 100, memoryMax: 250, filesMax })
  return { spool, folder }
}

const piece = (letter: string, length = 60) => Buffer.alloc(length, letter)

test('a small one stands in memory, a large one in a file without a name; both are read whole', async () => {
  const { spool, folder } = open()
  const small = spool.open('a')
  const large = spool.open('a')
  await small.add(piece('s'))
  for (const letter of 'lmnop') await large.add(piece(letter))
  expect(spool.used()).toEqual({ memory: 120, files: 240 })
  expect(readdirSync(folder)).toEqual([])
  expect((await small.read()).toString()).toBe('s'.repeat(60))
  expect((await large.read()).toString()).toBe(
    [...'lmnop'].map((letter) => letter.repeat(60)).join(''),
  )
  expect(large.bytes).toBe(300)
  await Promise.all([small.close(), large.close()])
  expect(spool.used()).toEqual({ memory: 0, files: 0 })
})

test('when the memory of all is used, small ones go to files too', async () => {
  const { spool } = open()
  const all = Array.from({ length: 6 }, () => spool.open('a'))
  for (const one of all) await one.add(piece('x'))
  expect(spool.used()).toEqual({ memory: 240, files: 120 })
  for (const one of all) expect((await one.read()).length).toBe(60)
  await Promise.all(all.map((one) => one.close()))
  expect(spool.used()).toEqual({ memory: 0, files: 0 })
})

test('a workspace has an eighth of the files, or one message of any size; others have theirs', async () => {
  const { spool } = open()
  const first = spool.open('a')
  await first.add(piece('x', 3_000))
  const second = spool.open('a')
  await expect(second.add(piece('x', 200))).rejects.toThrow(/^4\.3\.1 service_unavailable: /)
  const other = spool.open('b')
  await other.add(piece('x', 400))
  await Promise.all([first.close(), second.close(), other.close()])
  expect(spool.used()).toEqual({ memory: 0, files: 0 })
})
