// Searches of one text in another inside templates: bounded before they begin, since nothing can stop them.
import { expect, test } from 'vitest'
import { failureText, renderEmail } from '../../../mail/content/template.ts'

const text = (source: string, vars = {}) => {
  const rendered = renderEmail({ subject: '', html: null, text: source }, { vars })
  return rendered.ok ? rendered.text : failureText(rendered)
}

/** Searching these takes about a second where nothing bounds it; the attack has ten times as long ones. */
const periodic = 'a'.repeat(90_000)
const vars = { within: periodic, sought: `${'a'.repeat(30_000)}b${'a'.repeat(30_000)}` }

test.each([
  '{% if within contains sought %}yes{% endif %}',
  '{{ within | split: sought | size }}',
  '{{ within | replace: sought, "" | size }}',
  '{{ within | replace_first: sought, "" | size }}',
  '{{ within | replace_last: sought, "" | size }}',
  '{{ within | remove: sought | size }}',
  '{{ within | remove_first: sought | size }}',
  '{{ within | remove_last: sought | size }}',
])('a search that could take seconds is refused before it begins: %s', (source) => {
  expect(text(source, vars)).toBe('text: a search in 90000 characters for 60001 characters')
})

test.each([
  ['{{ "a,b,c" | split: "," | join: "-" }}', 'a-b-c'],
  ['{{ "aba" | replace: "a", "$&" }}', '$&b$&'],
  ['{{ "aba" | replace_first: "a", "x" }}{{ "aba" | replace_last: "a", "x" }}', 'xbaabx'],
  [
    '{{ "aba" | remove: "a" }}{{ "aba" | remove_first: "a" }}{{ "aba" | remove_last: "a" }}',
    'bbaab',
  ],
  ['{{ 1212 | replace: 12, 3 }}{{ gone | split: "," | size }}', '330'],
  ['{% if "abc" contains "b" %}y{% endif %}{% if "a1" contains 1 %}y{% endif %}', 'yy'],
  ['{% if tags contains "b" %}y{% endif %}{% if gone contains "b" %}n{% endif %}', 'y'],
])('%s', (source, expected) => {
  expect(text(source, { tags: ['a', 'b'] })).toBe(expected)
})

test('words are found in large texts', () => {
  expect(
    text('{% if within contains "some words" %}y{% endif %}', { within: 'x'.repeat(2e6) }),
  ).toBe('')
})
