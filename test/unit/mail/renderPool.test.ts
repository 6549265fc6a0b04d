// Second tries in the pool of a renderer: after deaths of the child, failures of a thread, renders past their time, and calls that nothing stops.
import { Liquid } from 'liquidjs'
import { expect, onTestFinished, test } from 'vitest'
import type { Outcome, Task } from '../../../mail/content/pool/messages.ts'
import { createSlot } from '../../../mail/content/pool/threads.ts'
import {
  createState,
  createTimes,
  currentTask,
  processorTimeOf,
} from '../../../mail/content/pool/times.ts'
import { createRenderer, type RendererOptions } from '../../../mail/content/renderer.ts'
import { failureText, type RenderedEmail } from '../../../mail/content/template.ts'
import { eventually } from '../../setup/eventually.ts'
import { frozenChild, killedChild, scriptedChild } from '../../setup/renderChildren.ts'

const SECONDS = 1_000
/** What the child does with it is said by each test, or is quick. */
const LOOP = '{% for x in (1..3) %}{{ x }}{% endfor %}'
const RENDERED: RenderedEmail = { ok: true, subject: 's', html: '123', text: null, missing: [] }

function createOwn(options: RendererOptions) {
  const lines: object[] = []
  const renderer = createRenderer({ warn: (facts) => void lines.push(facts) }, options)
  onTestFinished(() => renderer.close())
  const render = (workspaceId: string, html = LOOP) =>
    renderer.render(workspaceId, { subject: 's', html, text: null }, {})
  return { lines, render }
}

test(
  'an innocent render during which the child is killed, and twice more while it runs alone, is rendered',
  async () => {
    const child = killedChild(3)
    const { lines, render } = createOwn({ start: child.start, pauseMs: 10 })
    expect(await render('ws')).toEqual(RENDERED)
    expect(child.sent.map(({ id }) => id)).toEqual([1, 1, 1, 1])
    expect(lines).toMatchObject([
      { under_way: 1 },
      { ended_alone_by: 'ws' },
      {},
      { ended_alone_by: 'ws' },
      {},
    ])
  },
  240 * SECONDS,
)

test('a render that ends the child three times alone is given up; between its tries the others have their turn', async () => {
  const child = scriptedChild()
  const { render } = createOwn({ start: child.start, pauseMs: 300 })
  const guilty = render('guilty', `${LOOP}1`)
  const beside = render('beside', `${LOOP}2`)
  await eventually(() => expect(child.sent.map(({ id }) => id)).toEqual([1, 2]))
  child.end()
  let sent = 2
  for (let tries = 1; tries <= 3; tries++) {
    await eventually(() => expect(child.sent).toHaveLength(sent + 1))
    expect(child.sent.at(-1)?.id).toBe(1)
    const other = render('other', `${LOOP}${tries}`)
    expect(child.sent).toHaveLength(sent + 1)
    child.end()
    // What was under way beside it has its turn alone, too; then everybody else.
    const ids = tries === 1 ? [2, 3] : [2 + tries]
    sent += 1
    for (const id of ids) {
      sent += 1
      await eventually(() => expect(child.sent).toHaveLength(sent))
      expect(child.sent.at(-1)?.id).toBe(id)
      child.answer({ id, kind: 'done', result: RENDERED })
    }
    expect(await other).toEqual(RENDERED)
  }
  expect(await beside).toEqual(RENDERED)
  const given = await guilty
  expect(!given.ok && failureText(given)).toBe(
    'it ended the process that rendered it, again and again',
  )
  void render('guilty')
  void render('other')
  await eventually(() => expect(child.sent.at(-1)?.id).toBe(7))
})

test.each(['out_of_memory', 'failed', 'starved'] as const)(
  '%s at the first try: tried once more, in the place whose threads are fresh',
  async (kind) => {
    const child = scriptedChild()
    const { render } = createOwn({ start: child.start })
    const open = render('ws')
    await eventually(() => expect(child.sent).toMatchObject([{ id: 1, slot: 0 }]))
    child.answer(
      kind === 'starved' ? { id: 1, kind, part: 'html', isStuck: false } : { id: 1, kind },
    )
    await eventually(() =>
      expect(child.sent).toMatchObject([
        { id: 1, slot: 0 },
        { id: 1, slot: 4 },
      ]),
    )
    child.answer({ id: 1, kind: 'done', result: RENDERED })
    expect(await open).toEqual(RENDERED)
  },
)

test.each([
  ['out_of_memory', true],
  ['failed', false],
] as const)('%s in both tries: remembered is %s', async (kind, isRemembered) => {
  const child = scriptedChild()
  const { render } = createOwn({ start: child.start })
  const open = render('ws')
  for (const tries of [1, 2]) {
    await eventually(() => expect(child.sent).toHaveLength(tries))
    child.answer({ id: 1, kind })
  }
  expect(await open).toMatchObject({ ok: false, kind: 'fault' })
  const again = render('ws')
  if (!isRemembered) {
    await eventually(() => expect(child.sent.at(-1)?.id).toBe(2))
    child.answer({ id: 2, kind: 'done', result: RENDERED })
  }
  expect(await again).toEqual(isRemembered ? await open : RENDERED)
  expect(child.sent).toHaveLength(isRemembered ? 2 : 3)
})

test('a workspace that left a thread in a call which nothing stops waits, and nobody else does', async () => {
  const pauseMs = 300
  const child = scriptedChild()
  const { lines, render } = createOwn({ start: child.start, pauseMs })
  const slow = render('slow')
  await eventually(() => expect(child.sent).toHaveLength(1))
  child.answer({ id: 1, kind: 'too_slow', part: 'html', isStuck: true })
  const begin = performance.now()
  const next = render('slow')
  const calm = render('calm')
  await eventually(() => expect(child.sent.map(({ id }) => id)).toEqual([1, 3]))
  child.answer({ id: 3, kind: 'done', result: RENDERED })
  expect(await calm).toEqual(RENDERED)
  await eventually(() => expect(child.sent).toHaveLength(4))
  // A timer may be a moment early.
  expect(performance.now() - begin).toBeGreaterThan(pauseMs - 20)
  child.answer({ id: 1, kind: 'done', result: RENDERED })
  child.answer({ id: 2, kind: 'done', result: RENDERED })
  expect(await Promise.all([slow, next])).toEqual([RENDERED, RENDERED])
  expect(lines).toEqual([{ workspace_id: 'slow', ms: pauseMs }])
})

/** A template that takes some 2 s of this machine's processor: much longer than a look at its time, less than a second try has. */
function slowTemplate(): string {
  const rounds = (count: number) =>
    `{% for x in (1..${count}) %}{% for y in (1..200) %}{% endfor %}{% endfor %}done`
  const before = process.cpuUsage()
  new Liquid().parseAndRenderSync(rounds(1_500))
  const { user, system } = process.cpuUsage(before)
  return rounds(Math.ceil((1_500 * 2e6) / (user + system)))
}

test('a render that the machine leaves without processor is given its time: waiting is not its fault', async () => {
  const child = frozenChild({
    limit_ms: 5 * SECONDS,
    clock_ms: 60 * SECONDS,
    frozen_ms: 6 * SECONDS,
  })
  const { render } = createOwn({ start: child.start })
  expect(await render('ws', slowTemplate())).toMatchObject({ html: 'done' })
  expect(child.outcomes).toEqual(['done'])
})

test('a render that is past its time by the clock alone is starved; by the processor it is too slow', () => {
  const look = (begun_ms: number, between: () => void) => {
    const state = createState()
    Atomics.store(state.task, 0, currentTask())
    Atomics.store(state.begun, 0, process.hrtime.bigint() - BigInt(begun_ms * 1e6))
    const times = createTimes(state)
    const first = times({ limit_ms: 60 * SECONDS, clock_ms: 180 * SECONDS })
    between()
    return [first, times({ limit_ms: 1 * SECONDS, clock_ms: 3 * SECONDS })]
  }
  const work = () => {
    const before = processorTimeOf(currentTask()) ?? Number.NaN
    while ((processorTimeOf(currentTask()) ?? Number.NaN) - before < 1 * SECONDS);
  }
  expect(look(4 * SECONDS, () => undefined)).toEqual([null, 'starved'])
  expect(look(100, work)).toEqual([null, 'too_slow'])
  expect(look(4 * SECONDS, work)).toEqual([null, 'too_slow'])
})

test('a slot ends a render that is starved, and says so', async () => {
  const outcomes: Outcome[] = []
  const worker = { on: () => undefined, postMessage: () => undefined }
  const ended: object[] = []
  const threads = {
    take: () => ({ worker, part: new Int32Array(1), look: () => 'starved' }),
    end: async (thread: object) => ended.push(thread) > 1,
  }
  const slot = createSlot(threads as never, (outcome) => void outcomes.push(outcome), true)
  slot.run({ id: 7 } as Task)
  slot.check()
  slot.check()
  await eventually(() =>
    expect(outcomes).toEqual([{ id: 7, kind: 'starved', part: 'subject', isStuck: false }]),
  )
  expect(ended).toHaveLength(1)
})

test('a second try that the machine gave no time is answered busy, and after five such renders too slow', async () => {
  const child = scriptedChild()
  const { render } = createOwn({ start: child.start })
  let tries = 0
  const renderStarved = async () => {
    const open = render('ws')
    for (const slot of [0, 4]) {
      tries += 1
      await eventually(() => expect(child.sent).toHaveLength(tries))
      const task = child.sent.at(-1)
      expect(task).toMatchObject({ slot, clock_ms: 3 * (task?.limit_ms ?? 0) })
      child.answer({ id: task?.id ?? 0, kind: 'starved', part: 'html', isStuck: false })
    }
    return open
  }
  for (let i = 1; i < 5; i++) expect(await renderStarved()).toEqual({ ok: false, kind: 'busy' })
  const tooSlow = { ok: false, kind: 'too_slow', part: 'html', ms: 5_000 }
  expect(await renderStarved()).toEqual(tooSlow)
  const { length } = child.sent
  expect(await render('ws'), 'it is not tried again').toEqual(tooSlow)
  expect(child.sent).toHaveLength(length)
})

test('what is tried with nothing beside it has no more time by the clock than of the processor', async () => {
  const child = scriptedChild()
  const { render } = createOwn({ start: child.start })
  const open = render('ws')
  await eventually(() => expect(child.sent).toHaveLength(1))
  child.end()
  await eventually(() => expect(child.sent).toHaveLength(2))
  const [first, alone] = child.sent
  expect(first?.clock_ms).toBe(3 * (first?.limit_ms ?? 0))
  expect(alone?.clock_ms).toBe(alone?.limit_ms)
  child.answer({ id: alone?.id ?? 0, kind: 'done', result: RENDERED })
  expect(await open).toEqual(RENDERED)
})
