// Memory is given back after long work, soon and once more late: not while it goes on, and again after the next one.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MEBIBYTE } from '../../../rules/limits.ts'
import { createCollector } from '../../../runtime/collect.ts'
import { giveWay } from '../../../runtime/giveWay.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

test('a collector collects once after pieces that follow each other, and once more after the next work', () => {
  let collected = 0
  const collectLater = createCollector(() => {
    collected += 1
  }, 100)
  for (let i = 0; i < 5; i++) {
    collectLater()
    vi.advanceTimersByTime(99)
  }
  expect(collected).toBe(0)
  vi.advanceTimersByTime(1)
  expect(collected).toBe(1)
  vi.advanceTimersByTime(1_000)
  expect(collected).toBe(1)
  collectLater()
  vi.advanceTimersByTime(100)
  expect(collected).toBe(2)
})

test('what a large body leaves behind is given back without anything else that happens; a small one causes nothing', async () => {
  let isKept = true
  const registry = new FinalizationRegistry(() => {
    isKept = false
  })
  registry.register(Buffer.alloc(MEBIBYTE), null)
  await giveWay({ took_ms: 0, bytes: MEBIBYTE, part: 1 })
  expect(vi.getTimerCount()).toBe(0)
  await giveWay({ took_ms: 0, bytes: 9 * MEBIBYTE, part: 1 })
  expect(vi.getTimerCount()).toBe(2)
  vi.advanceTimersByTime(10_000)
  await vi.waitFor(() => expect(isKept).toBe(false))
  expect(vi.getTimerCount()).toBe(1)
  let isKeptLonger = true
  const late = new FinalizationRegistry(() => {
    isKeptLonger = false
  })
  late.register(Buffer.alloc(MEBIBYTE), null)
  vi.advanceTimersByTime(50_000)
  await vi.waitFor(() => expect(isKeptLonger).toBe(false))
})
