// Lists inside lists that a template makes: what they hold is charged before they become text, which nothing can stop.
import { expect, test } from 'vitest'
import { failureText, renderEmail } from '../../../mail/content/template.ts'

const text = (source: string, vars = {}) => {
  const rendered = renderEmail({ subject: '', html: null, text: source }, { vars })
  return rendered.ok ? rendered.text : failureText(rendered)
}

/** Repeats a step that makes the list `a` hold twice as much. With more of them than 24 its text takes minutes. */
const doubled = (step: string, show: string) =>
  `{% assign a = "xy" | split: "" %}${`{% assign a = ${step} %}`.repeat(24)}{{ ${show} | size }}`

test.each([
  ['push', doubled('a | push: a', 'a | join: ""')],
  ['unshift', doubled('a | unshift: a', 'a | join: ""')],
  ['concat', doubled('a | concat: a', 'a | join: ""')],
  ['push, shown as JSON', doubled('a | push: a', 'a | json')],
  ['push, shown by an output', doubled('a | push: a', 'a | append: ""')],
  ['push, taken for a number', doubled('a | push: a', 'a | plus: 1')],
  ['groups of groups', doubled('a | concat: a | group_by: "gone"', 'a | json')],
  [
    'groups by an expression',
    doubled(`a | concat: a | group_by_exp: "x", "1" | map: "items"`, 'a | json'),
  ],
  ['a long text many times', doubled('a | push: a', 'a | join: ""').replace('"xy"', 'long')],
])('%s: refused by the bound on memory', (_, source) => {
  expect(text(source, { long: 'xy'.repeat(1_000) })).toBe('text: memory alloc limit exceeded')
})

test.each([
  ['push', '{% assign b = "" | split: "" | push: b %}'],
  ['unshift', '{% assign b = "" | split: "" | unshift: b %}'],
  ['groups', '{% assign b = b | group_by: "gone" %}'],
  ['groups, and what is in them', '{% assign b = b | group_by: "gone" | map: "items" %}'],
])('%s: at most so deep', (_, step) => {
  const source = (times: number) => `{% assign b = list %}${step.repeat(times)}{{ b | size }}`
  expect(text(source(40), { list: [1] })).toBe('1')
  expect(text(source(120), { list: [1] })).toBe('text: lists and objects over 100 deep')
})

test('a list that is made item by item, from thousands of items', () => {
  const list = Array.from({ length: 3_000 }, (_, i) => ({ id: i, name: `Item number ${i}` }))
  const source =
    '{% assign out = "" | split: "" %}{% for item in list %}{% assign out = out | push: item %}{% endfor %}' +
    '{{ out | size }} {{ out | map: "id" | last }} {{ list | concat: out | size }}'
  expect(text(source, { list })).toBe('3000 2999 6000')
})

test.each([
  ['{{ "a,b" | split: "," | push: "c" | join: "-" }}', 'a-b-c'],
  ['{{ "a,b" | split: "," | unshift: "c" | join: "-" }}', 'c-a-b'],
  ['{{ "a" | concat: tags | join: "-" }}{{ gone | concat: tags | size }}', 'a-x-y2'],
  ['{{ tags | concat | size }}{{ tags | concat: gone | size }}', '22'],
  ['{{ people | map: "name" | join: "-" }}', 'Ada-Bo'],
  ['{{ people | group_by: "team" | map: "name" | join: "-" }}', 'r-s'],
  [
    `{% assign g = people | group_by_exp: "p", "p.name.size" %}{{ g[0].items[0].name }}{{ g[1].items | size }}`,
    'Ada1',
  ],
])('%s', (source, expected) => {
  const people = [
    { name: 'Ada', team: 'r' },
    { name: 'Bo', team: 's' },
  ]
  expect(text(source, { tags: ['x', 'y'], people })).toBe(expected)
})
