// How large an email may be that the child of a renderer makes.
import { afterAll, expect, test } from 'vitest'
import { createRenderer } from '../../../mail/content/renderer.ts'
import { failureText } from '../../../mail/content/template.ts'

const renderer = createRenderer({ warn: () => undefined })
afterAll(() => renderer.close())

const inHtml = (html: string) => ({ subject: 's', html, text: null })

async function render(html: string, vars = {}) {
  const rendered = await renderer.render('ws', inHtml(html), { vars })
  return rendered.ok ? rendered.html : failureText(rendered)
}

test('an email of over 2 MiB that the child makes is refused, whatever it is made of', async () => {
  const lines = '{% for i in (1..n) %}{{ line }}{% endfor %}'
  const line = '"\n'.repeat(5_000)
  const fits = await renderer.render(
    'ws',
    inHtml(`${lines}{{ gone }}`.replace('line', 'line | raw')),
    {
      vars: { n: 200, line },
    },
  )
  expect(fits).toEqual({
    ok: true,
    subject: 's',
    html: line.repeat(200),
    text: null,
    missing: ['gone'],
  })
  expect(await render(lines, { n: 250, line: 'x'.repeat(10_000) })).toBe(
    'html: the result is over 2 MiB',
  )
  // Fewer characters than bytes, and two parts of which each is small enough.
  expect(await render(lines, { n: 90, line: '\u4e00'.repeat(10_000) })).toBe(
    'the result is over 2 MiB',
  )
  const both = { subject: 's', html: lines, text: lines }
  expect(
    await renderer.render('ws', both, { vars: { n: 150, line: 'x'.repeat(10_000) } }),
  ).toMatchObject({ message: 'the result is over 2 MiB' })
  const names = '{% for i in (1..30000) %}{{ gone[i] }}{% endfor %}'
  expect(await render(names)).toBe('the result is over 2 MiB')
}, 120_000)
