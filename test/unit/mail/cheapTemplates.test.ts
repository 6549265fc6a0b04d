// Which templates are cheap enough to be rendered in place: no loops, a closed list of filters, and bounded work.
import { describe, expect, test } from 'vitest'
import { renderInPlace } from '../../../mail/content/renderer.ts'

const inHtml = (html: string) => ({ subject: 's', html, text: null })

describe('which templates are rendered in place', () => {
  const vars = { name: 'Ada', tags: ['a', 'b'], at: '2026-11-21' }

  test.each([
    'Hi {{ name | default: "you" | capitalize }}',
    '{% if name == "Ada" and tags contains "a" %}{{ name | append: "!" }}{% else %}-{% endif %}',
    '{% unless name %}{{ at | date: "%d %B %Y" }}{% elsif at %}{{ tags | join: ", " }}{% endunless %}',
    '{{ tags[0] }} {{ tags.first | upcase | escape }} {{ tags | size | plus: 1 }} {% comment %}x{% endcomment %}',
    '{% raw %}{{ x }}{% endraw %}{% # note %}',
  ])('%s', (html) => {
    expect(renderInPlace(inHtml(html), { vars })).toMatchObject({ ok: true })
  })

  test.each([
    '{% for tag in tags %}<i>{{ tag }}</i>{% endfor %}',
    '{% assign a = 1 %}',
    '{{ tags | find_exp: "x", "x == 1" }}',
    '{{ tags | where_exp: "x", "x" }}{{ tags | group_by_exp: "x", "x" }}',
    '{{ tags | sort_natural }}',
    '{{ name | replace: "A", name }}',
    '{{ name | split: "" }}',
    '{{ (1..3) | size }}',
    '{{ tags[name] }}',
    '{{ at | date: "%999999999Y" }}',
    '{{ at | date: name }}',
    '{{ at | date: "%Y", name }}',
    `{{ name${' | append: name'.repeat(11)} }}`,
    `{{ name${' | url_encode'.repeat(10)} }}`,
    '{{ at | date: "%A" }}'.repeat(200),
    '{{ name }}'.repeat(4_000),
    '{% if name == (name | upcase) %}{% endif %}',
  ])('not %s', (html) => {
    expect(renderInPlace(inHtml(html), { vars })?.ok ?? null).not.toBe(true)
  })

  test('large values: not where they are used often, or searched in', () => {
    const big = { vars: { big: 'ab'.repeat(500_000) } }
    expect(renderInPlace(inHtml('x'), big)).toMatchObject({ ok: true })
    expect(renderInPlace(inHtml('{{ big }}'.repeat(1_000)), big)).toBe(null)
    expect(renderInPlace(inHtml('{{ big | upcase | size }}'.repeat(20)), big)).toBe(null)
    expect(renderInPlace(inHtml('{% if big contains big %}{% endif %}'), big)).toBe(null)
  })

  test('the filters size, first and last of an object with such keys: no text of it', () => {
    const long = '&'.repeat(1_000)
    const odd = { vars: { a: { length: long, size: long, first: long, last: long } } }
    const source = '{{ a | size | escape | escape }},{{ a | first }},{{ a | last }}'
    expect(renderInPlace(inHtml(source), odd)).toMatchObject({ html: '0,,' })
    expect(renderInPlace(inHtml('{{ "abc" | size }}{{ tags | size }}'), { vars })).toMatchObject({
      html: '32',
    })
  })

  test('a template that does not parse says so in place', () => {
    expect(renderInPlace(inHtml('{% for %}'), {})).toMatchObject({ ok: false, kind: 'fault' })
  })
})
