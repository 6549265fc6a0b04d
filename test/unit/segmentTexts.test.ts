// The texts of a segment with more guarded mails than may wait to be rendered at once.
import { expect, onTestFinished, test } from 'vitest'
import { createRenderPlaces } from '../../activities/segment/renderPlaces.ts'
import { createSegmentTexts } from '../../activities/segment/texts.ts'
import { createRenderer } from '../../mail/content/renderer.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

const LOOP = '{% for x in (1..3) %}{{ x }}{% endfor %}'

test('forty mails that need the child, of which twenty may wait: all are rendered', async () => {
  const renderer = createRenderer({ warn: () => undefined }, { eachMax: 20 })
  onTestFinished(() => renderer.close())
  const renderPlaces = createRenderPlaces()
  const texts = createSegmentTexts(
    { renderer, renderPlaces, publicUrl: 'https://x.test' },
    'ws' as WorkspaceId,
  )
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
