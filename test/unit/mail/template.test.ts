// Liquid templates: escaping, missing names, no access to files or prototypes, and limits.
import { describe, expect, test } from 'vitest'
import {
  failureText,
  parseTemplate,
  renderEmail,
  type TemplateScope,
} from '../../../mail/content/template.ts'

const scope: TemplateScope = {
  contact: { email: 'bo@b.test', first_name: 'Bo', last_name: null, properties: { plan: 'pro' } },
  properties: { note: '<b>"x" & \'y\'</b>', tags: ['a', 'b'] },
  event: { order: { id: 7 } },
  wait_events: { wait_1: { total: 9.5 } },
  vars: { code: 'A&B', contact: 'not this one' },
  workflow: { id: 'wf_1' },
  unsubscribe_url: 'https://u.test/u/abc?x=1&y=2',
}

function render(source: string, names: TemplateScope = scope) {
  const result = renderEmail({ subject: source, html: source, text: source }, names)
  if (!result.ok) throw new Error(failureText(result))
  return result
}

test('every name of the interface, and variables at top level', () => {
  const source =
    '{{ contact.email }} {{ contact.first_name }} {{ contact.properties.plan }} {{ event.order.id }} ' +
    '{{ wait_events.wait_1.total }} {{ vars.code | raw }} {{ code | raw }} {{ workflow.id }}'
  const expected = 'bo@b.test Bo pro 7 9.5 A&B A&B wf_1'
  expect(render(source)).toEqual({
    ok: true,
    subject: expected,
    html: expected,
    text: expected,
    missing: [],
  })
})

test('escaped in html, plain in text and subject', () => {
  const { html, text, subject } = render('{{ properties.note }}')
  expect(html).toBe('&lt;b&gt;&#34;x&#34; &amp; &#39;y&#39;&lt;/b&gt;')
  expect(text).toBe('<b>"x" & \'y\'</b>')
  expect(subject).toBe('<b>"x" & \'y\'</b>')
})

test('the unsubscribe link stays a link', () => {
  const source = '<a href="{{ unsubscribe_url }}">{{unsubscribe_url}}</a>'
  expect(render(source).html).toBe(
    '<a href="https://u.test/u/abc?x=1&amp;y=2">https://u.test/u/abc?x=1&amp;y=2</a>',
  )
  expect(render('{{ unsubscribe_url }}').text).toBe('https://u.test/u/abc?x=1&y=2')
})

test('a subject is one line', () => {
  const parts = { subject: ' {{ vars.a }}\r\nBcc: x ', html: null, text: null }
  const result = renderEmail(parts, { vars: { a: 'one\r\n\u2028two\u0000' } })
  expect(result).toEqual({
    ok: true,
    subject: 'one two Bcc: x',
    html: null,
    text: null,
    missing: [],
  })
})

test('missing names render empty and are listed once', () => {
  const source =
    'a{{ contact.nick }}b{{ nothing.at.all }}{{ contact.nick }}{% for tag in properties.tags %}{{ tag.x }}{% endfor %}' +
    '{{ contact.last_name }}{{ maybe | default: "d" }}{% if absent %}{{ never }}{% endif %}{{ unsaid | upcase }}'
  const { html, missing } = render(source)
  expect(html).toBe('abd')
  expect(missing).toEqual(['contact.nick', 'nothing.at.all', 'tag.x', 'unsaid'])
})

test('names of prototypes are missing', () => {
  const source =
    '{{ constructor }}{{ contact.constructor.name }}{{ __proto__ }}{{ toString }}{{ properties.tags.map }}'
  expect(render(source).text).toBe('')
  const own = JSON.parse('{"__proto__": "mine"}')
  expect(render('{{ __proto__ }}', { vars: own }).text).toBe('mine')
})

test('dates are rendered the same on every machine', () => {
  const names = { vars: { at: '2026-11-21T23:30:00Z' } }
  expect(render('{{ at | date: "%Y-%m-%d %H:%M %A" }}', names).text).toBe(
    '2026-11-21 23:30 Saturday',
  )
})

describe('preview text', () => {
  const withPreview = (html: string | null, preview_text: string) => {
    const result = renderEmail({ subject: '', html, text: null, preview_text }, scope)
    return result.ok ? result.html : failureText(result)
  }

  test('is added to the start of the body as hidden text, escaped', () => {
    const html = withPreview(
      '<html><BODY class="a"><p>Hi</p></BODY>',
      'For <{{ code }}>\n{{ nil }}',
    )
    expect(html).toMatch(
      /^<html><BODY class="a"><div style="display:none[^"]*">For &lt;A&amp;B&gt;&#847;.*<\/div><p>Hi/,
    )
  })

  test('is added first without a body element, and not at all without html', () => {
    expect(withPreview('<p>Hi</p>', 'x')).toMatch(/^<div style="display:none[^>]*>x&.*<\/div><p>Hi/)
    expect(withPreview(null, 'x')).toBe(null)
    expect(withPreview('<p>Hi</p>', '')).toBe('<p>Hi</p>')
  })
})

test('a template that does not parse: line, column, message', () => {
  expect(parseTemplate('fine {{ a }}')).toEqual({ ok: true })
  expect(parseTemplate('a\n  {% if b %}')).toEqual({
    ok: false,
    line: 2,
    column: 3,
    message: 'tag {% if b %} not closed',
  })
  expect(parseTemplate('{{ a')).toMatchObject({ ok: false, line: 1, column: 1 })
  expect(parseTemplate('{{ a | nofilter }}')).toMatchObject({ ok: false })
  expect(renderEmail({ subject: 'x', html: '{% bad %}', text: null }, {})).toEqual({
    ok: false,
    kind: 'fault',
    message: 'html: tag "bad" not found',
  })
})

test.each(['include', 'render', 'layout', 'block', 'liquid'])('there is no tag %s', (tag) => {
  expect(parseTemplate(`{% ${tag} "/etc/passwd" %}`)).toMatchObject({
    ok: false,
    message: `tag "${tag}" not found`,
  })
})

test.each([
  [
    'an endless range',
    '{% for i in (1..49999999) %}{% endfor %}',
    'a range of over 100000 elements',
  ],
  [
    'doubling',
    `{% assign a = "xxxxxxxx" %}${'{% assign a = a | append: a %}'.repeat(100)}{{ a }}`,
    'memory alloc limit exceeded',
  ],
  [
    'much from little',
    `{% for i in (1..90000) %}${'x'.repeat(90_000)}{% endfor %}`,
    'the result is over 40 MiB',
  ],
  ['many tags', '{{ a }}'.repeat(100_000), 'over 5000 tags and outputs'],
  ['deep tags', '{% if a %}'.repeat(4_000), 'over 100 blocks inside each other'],
  ['a large source', 'x'.repeat(1024 * 1024 + 1), 'over 1048576 characters'],
])('%s ends in the error of what bounds it', (_, html, message) => {
  const bounded = { ok: false, kind: 'fault', message: `html: ${message}` }
  expect(renderEmail({ subject: '', html, text: null }, {})).toEqual(bounded)
})

test('a cached template is rendered with the new values', () => {
  for (const name of ['a', 'b', 'c']) {
    expect(render('Hi {{ name }} {{ gone }}', { vars: { name } })).toMatchObject({
      text: `Hi ${name} `,
      missing: ['gone'],
    })
  }
  for (let i = 0; i < 500; i++) expect(render(`${i}: {{ name }}`, {}).missing).toEqual(['name'])
})
