// How many executions of a workspace may be started ahead of those that have begun.
import { expect, test, vi } from 'vitest'
import type { WorkspaceId } from '../../../rules/ids.ts'
import { createStartWindow } from '../../../worker/startWindow.ts'

const [a, b] = ['ws_a', 'ws_b'] as [WorkspaceId, WorkspaceId]
const all = async (_: WorkspaceId, ids: string[]) => ids

test('a window fills with what was started, and another workspace has its own', async () => {
  const window = createStartWindow(all, [{ size: 4, within_ms: 60_000 }])
  expect(await window.round()(a, 'wf_1')).toBe(2)
  window.add(a, 'wf_1', 'exe_1')
  window.add(a, 'wf_1', 'exe_1')
  expect(await window.round()(a, 'wf_1')).toBe(1)
  window.add(a, 'wf_1', 'exe_2')
  expect([await window.round()(a, 'wf_1'), await window.round()(b, 'wf_1')]).toEqual([0, 2])
})

test('a workflow leaves the others of its workspace some, however many ask', async () => {
  const window = createStartWindow(all, [{ size: 8, within_ms: 60_000 }])
  const fill = async (workflowId: string) => {
    let count = 0
    while ((await window.round()(a, workflowId)) > 0)
      window.add(a, workflowId, `${workflowId}/${count++}`)
    return count
  }
  expect([await fill('wf_1'), await fill('wf_2'), await fill('wf_3')]).toEqual([4, 2, 1])
})

test('what has begun makes place; what is asked for is what was started, and only when the window is full', async () => {
  const open = new Set(['exe_1', 'exe_3'])
  const asked: string[][] = []
  const window = createStartWindow(
    async (_, ids) => {
      asked.push(ids)
      return ids.filter((id) => open.has(id))
    },
    [{ size: 6, within_ms: 60_000 }],
  )
  for (const id of ['exe_1', 'exe_2', 'exe_3']) window.add(a, 'wf_1', id)
  expect(await window.round()(a, 'wf_1')).toBe(1)
  expect(await window.round()(a, 'wf_1')).toBe(1)
  expect(asked).toEqual([['exe_1', 'exe_2', 'exe_3']])
})

test('a round asks once for a workspace, however many of its workflows find no place', async () => {
  let asked = 0
  const window = createStartWindow(
    async (_, ids) => {
      asked += 1
      return ids
    },
    [{ size: 1, within_ms: 60_000 }],
  )
  window.add(a, 'wf_0', 'exe_0')
  const free = window.round()
  for (let n = 0; n < 50; n++) expect(await free(a, `wf_${n}`)).toBe(0)
  expect(asked).toBe(1)
})

test('what never begins counts no longer after its time', async () => {
  vi.useFakeTimers()
  try {
    const window = createStartWindow(all, [{ size: 2, within_ms: 1_000 }])
    window.add(a, 'wf_1', 'exe_1')
    expect(await window.round()(a, 'wf_1')).toBe(0)
    vi.advanceTimersByTime(1_001)
    expect(await window.round()(a, 'wf_1')).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})

test('executions that have not begun after three seconds make place for 24 more of their workflow, until 64 were started within a minute', async () => {
  vi.useFakeTimers()
  try {
    const window = createStartWindow(all)
    const fill = async () => {
      let count = 0
      while ((await window.round()(a, 'wf_1')) > 0)
        window.add(a, 'wf_1', `${performance.now()}/${count++}`)
      return count
    }
    const filled: number[] = []
    for (let second = 0; second < 12; second++) {
      filled.push(await fill())
      vi.advanceTimersByTime(1_000)
    }
    expect(filled).toEqual([24, 0, 0, 0, 24, 0, 0, 0, 16, 0, 0, 0])
  } finally {
    vi.useRealTimers()
  }
})

test('what was started over a minute ago is forgotten, though the window was never full', () => {
  vi.useFakeTimers()
  try {
    const window = createStartWindow(all)
    for (let n = 0; n < 100; n++) {
      window.add(a, 'wf_1', `exe_${n}`)
      vi.advanceTimersByTime(10_000)
    }
    expect(window.size(a)).toBe(7)
  } finally {
    vi.useRealTimers()
  }
})

test('what is started while it is asked who has begun counts', async () => {
  const window = createStartWindow(async () => {
    window.add(a, 'wf_1', 'exe_2')
    return []
  }, [{ size: 2, within_ms: 60_000 }])
  window.add(a, 'wf_1', 'exe_1')
  expect(await window.round()(a, 'wf_1')).toBe(0)
})
