// The texts of a segment with more guarded mails than may wait to be rendered at once.
import { expect, onTestFinished, test } from 'vitest'
import { createRenderPlaces } from '../../activities/segment/renderPlaces.ts'
import { createSegmentTexts } from '../../activities/segment/texts.ts'
import { createRenderer, type Renderer } from '../../mail/content/renderer.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { MEBIBYTE } from '../../rules/limits.ts'

const LOOP = '{% for x in (1..3) %}{{ x }}{% endfor %}'

function textsOf(renderer: Renderer) {
  const deps = { renderer, renderPlaces: createRenderPlaces(), publicUrl: 'https://x.test' }
  return createSegmentTexts(deps, 'ws' as WorkspaceId)
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
  await texts.renderWanted()
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
  await texts.renderWanted()
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
  await texts.renderWanted()
  const all = takeAll()
  texts.requireAll()
  expect(all.map((text) => text?.rendered.ok && text.rendered.subject)).toEqual(
    all.map((_, i) => `s${i}`),
  )
})
