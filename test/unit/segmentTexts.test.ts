// The texts of a segment with more guarded mails than may wait to be rendered at once.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createKeptTexts, createSegmentKept } from '../../activities/segment/keptTexts.ts'
import { createRenderPlaces } from '../../activities/segment/renderPlaces.ts'
import { createSegmentTexts, RendererBusy } from '../../activities/segment/texts.ts'
import { createRenderer, type Renderer } from '../../mail/content/renderer.ts'
import type { RenderedEmail } from '../../mail/content/template.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { MEBIBYTE } from '../../rules/limits.ts'

const LOOP = '{% for x in (1..3) %}{{ x }}{% endfor %}'

const never = new AbortController().signal

function textsOf(
  renderer: Renderer,
  kept = createSegmentKept(),
  renderPlaces = createRenderPlaces(),
) {
  const deps = { renderer, renderPlaces, publicUrl: 'https://x.test' }
  return createSegmentTexts(deps, 'ws' as WorkspaceId, kept)
}

/** A renderer whose answers the test makes. */
function scripted(render: (subject: string) => Promise<RenderedEmail>): Renderer {
  return {
    render: (_, { subject }) => render(subject),
    warm: () => undefined,
    pid: () => undefined,
    close: async () => undefined,
  }
}
const done = (subject: string, html: string | null = null): RenderedEmail => {
  return { ok: true, subject, html, text: null, missing: [] }
}
/** Asks for so many mails that need the child. */
function takeLoops(texts: ReturnType<typeof textsOf>, count: number) {
  texts.beginWalk()
  return Array.from({ length: count }, (_, i) =>
    texts.take({ subject: `s${i}`, html: LOOP, text: null }, {}),
  )
}

test('forty mails that need the child, of which twenty may wait: all are rendered', async () => {
  const renderer = createRenderer({ warn: () => undefined }, { eachMax: 20 })
  onTestFinished(() => renderer.close())
  const texts = textsOf(renderer)
  const takeAll = () => {
    texts.beginWalk()
    return Array.from({ length: 40 }, (_, i) =>
      texts.take({ subject: `s${i}`, html: LOOP, text: null }, {}),
    )
  }
  expect(takeAll()).toEqual(Array(40).fill(null))
  await texts.renderWanted(never)
  const all = takeAll()
  texts.requireAll()
  expect(all).toEqual(
    all.map((_, i) => ({
      rendered: { ok: true, subject: `s${i}`, html: '123', text: null, missing: [] },
      token: expect.any(String),
    })),
  )
}, 60_000)

test('seven mails of a megabyte each: all are rendered, and none waits for ever', async () => {
  const renderer = createRenderer({ warn: () => undefined }, { eachMax: 20 })
  onTestFinished(() => renderer.close())
  const texts = textsOf(renderer)
  const filling = 'x'.repeat(MEBIBYTE - 100)
  const takeAll = () => {
    texts.beginWalk()
    return Array.from({ length: 7 }, (_, i) =>
      texts.take({ subject: `s${i}`, html: LOOP + filling, text: null }, { vars: { filling } }),
    )
  }
  expect(takeAll()).toEqual(Array(7).fill(null))
  await texts.renderWanted(never)
  const all = takeAll()
  texts.requireAll()
  for (const [i, text] of all.entries()) {
    expect(text?.rendered).toMatchObject({ ok: true, subject: `s${i}`, html: `123${filling}` })
  }
}, 60_000)

test('many mails, each cheap: they do not hold the process all together', async () => {
  const renderer = createRenderer({ warn: () => undefined })
  onTestFinished(() => renderer.close())
  const texts = textsOf(renderer)
  const big = '<&>'.repeat(20_000)
  const takeAll = () => {
    texts.beginWalk()
    return Array.from({ length: 200 }, (_, i) =>
      texts.take({ subject: `s${i}`, html: '{{ big }}', text: null }, { vars: { big } }),
    )
  }
  // Each takes about a millisecond.
  expect(takeAll().filter((text) => text === null).length).toBeGreaterThan(0)
  await texts.renderWanted(never)
  const all = takeAll()
  texts.requireAll()
  expect(all.map((text) => text?.rendered.ok && text.rendered.subject)).toEqual(
    all.map((_, i) => `s${i}`),
  )
})

test('a refusal ends the try: nothing is rendered after it, and the next try goes on with what is kept', async () => {
  const kept = createSegmentKept()
  const places = createRenderPlaces({ each: 1 })
  let asked: string[] = []
  let isBusy = true
  const renderer = scripted(async (subject) => {
    asked.push(subject)
    return isBusy && asked.length > 5 ? { ok: false, kind: 'busy' } : done(subject)
  })
  const first = textsOf(renderer, kept, places)
  takeLoops(first, 20)
  await expect(first.renderWanted(never)).rejects.toThrow(RendererBusy)
  const { length } = asked
  expect(kept.count()).toBe(5)
  await nextTurn()
  expect(asked.length).toBe(length)

  isBusy = false
  asked = []
  const second = textsOf(renderer, kept, places)
  expect(takeLoops(second, 20).filter((text) => text !== null)).toHaveLength(5)
  await second.renderWanted(never)
  expect(asked).toHaveLength(15)
  expect(takeLoops(second, 20).filter((text) => text === null)).toEqual([])
})

test('mails that do not fit beside each other are rendered one after the other', async () => {
  let underWay = 0
  const renderer = scripted(async (subject) => {
    if (underWay >= 2) return { ok: false, kind: 'busy' }
    underWay += 1
    await nextTurn()
    underWay -= 1
    return done(subject)
  })
  const texts = textsOf(renderer)
  takeLoops(texts, 12)
  await texts.renderWanted(never)
  expect(takeLoops(texts, 12).filter((text) => text === null)).toEqual([])
})

test('a try that Temporal has given up begins no further mail', async () => {
  const gone = new AbortController()
  let asked = 0
  const renderer = scripted(async (subject) => {
    asked += 1
    gone.abort(new Error('given up'))
    return done(subject)
  })
  const texts = textsOf(renderer)
  takeLoops(texts, 20)
  await expect(texts.renderWanted(gone.signal)).rejects.toThrow('given up')
  expect(asked).toBeLessThanOrEqual(4)
  // What came last counts: were it all, the segment would be written.
  const last = textsOf(renderer)
  takeLoops(last, 1)
  await last.renderWanted(new AbortController().signal)
})

test('a segment whose mails took five minutes in all its tries has failed mails, and is not tried for ever', () => {
  const renderer = scripted(async (subject) => done(subject))
  const texts = textsOf(renderer, createSegmentKept(300_001))
  expect(takeLoops(texts, 1)).toMatchObject([{ rendered: { ok: false, kind: 'too_slow' } }])
  texts.requireAll()
})

test('many mails of one large template and large values: a walk does not read them anew for each', () => {
  const texts = textsOf(scripted(async (subject) => done(subject)))
  const html = LOOP + 'x'.repeat(MEBIBYTE - 100)
  const values = {
    big: 'y'.repeat(250_000),
    more: Array.from({ length: 1_000 }, (_, i) => ({ i })),
  }
  const scope = {
    properties: values,
    event: values,
    contact: { email: 'a@b.test', properties: values },
  }
  const begin = performance.now()
  texts.beginWalk()
  for (let i = 0; i < 300; i++) {
    texts.take({ subject: 's', html, text: null }, { ...scope, contact: { ...scope.contact } })
  }
  // Each by itself takes over 10 ms.
  expect(performance.now() - begin).toBeLessThan(1_500)
})

test('mails that are too large together have failed, and how long was rendered is known without their texts', async () => {
  const large = 'x'.repeat(2 * MEBIBYTE)
  const kept = createSegmentKept()
  const texts = textsOf(
    scripted(async (subject) => done(subject, large)),
    kept,
  )
  takeLoops(texts, 40)
  await texts.renderWanted(never)
  const outcomes = takeLoops(texts, 40).map((text) => text?.rendered.ok)
  expect(outcomes.filter((ok) => ok)).toHaveLength(31)
  expect(outcomes.filter((ok) => ok === false)).toHaveLength(9)

  const all = createKeptTexts()
  kept.spent_ms = 5_000
  for (let i = 0; i < 10; i++) all.keep(`exe_${i}/0`, i === 0 ? kept : createSegmentKept())
  for (let i = 0; i < 3; i++) {
    const other = createSegmentKept()
    for (let n = 0; n < 7; n++) {
      other.set(`${n}`, { rendered: done('', large), token: '' })
    }
    all.keep(`large_${i}/0`, other)
  }
  expect(all.of('exe_0/0').count()).toBe(0)
  expect(all.of('exe_0/0').spent_ms).toBe(5_000)
})

test('a try in which nothing was rendered counts no time', async () => {
  const kept = createSegmentKept()
  const texts = textsOf(
    scripted(async () => ({ ok: false, kind: 'busy' })),
    kept,
  )
  takeLoops(texts, 3)
  await expect(texts.renderWanted(never)).rejects.toThrow(RendererBusy)
  expect(kept.spent_ms).toBe(0)
})
