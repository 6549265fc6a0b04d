// What a template may be to be parsed: bounds on tags, words, depth and branches, and on ranges when they are evaluated.
import { expect, test } from 'vitest'
import { failureText, parseTemplate, renderEmail } from '../../../mail/content/template.ts'

const MEBIBYTE = 1024 * 1024
const ifs = (inside: string) => `{% if a %}${inside}{% endif %}`

test.each([
  ['20,000 elsif', ifs('{% elsif b %}'.repeat(20_000)), 'over 5000 tags and outputs'],
  ['600 elsif', ifs('{% elsif b %}'.repeat(600)), 'over 500 branches in one block'],
  [
    '190,000 or',
    `{% if a${' or a'.repeat(190_000)} %}{% endif %}`,
    'over 10000 characters in one tag',
  ],
  [
    '4,000 signs',
    `{% if a${'<a'.repeat(2_000)} %}{% endif %}`,
    'over 4000 words and signs in one tag',
  ],
  [
    'many or in many tags',
    `{% if a${' or a'.repeat(1_900)} %}{% endif %}`.repeat(20),
    'over 10000 words and signs in tags and outputs',
  ],
  [
    'many words in many outputs',
    '{{ a | abs }}'.repeat(2_001),
    'over 10000 words and signs in tags and outputs',
  ],
  [
    'blanks in many tags',
    `{{ a${' '.repeat(9_900)}}}`.repeat(30),
    'over 262144 characters in tags and outputs',
  ],
  ['a long filter chain', `{{ a${'|abs'.repeat(2_000)} }}`, 'over 4000 words and signs in one tag'],
  ['one long text', `{{ "${'x'.repeat(MEBIBYTE - 100)}" }}`, 'over 10000 characters in one tag'],
  ['many quotes', `{{ ${'"" '.repeat(2_001)}}}`, 'over 4000 words and signs in one tag'],
  [
    'names in names',
    `{{ ${'a['.repeat(101)}0${']'.repeat(101)} }}`,
    'over 100 brackets in one tag',
  ],
  ['blocks in blocks', '{% if a %}'.repeat(101), 'over 100 blocks inside each other'],
  [
    'an end of raw without end',
    `{% raw %}{% endraw ${'x'.repeat(MEBIBYTE - 100)}%}`,
    'over 10000 characters in one tag',
  ],
  [
    'ends of raw',
    `{% raw %}${'{% endraw '.repeat(100_000)}{% endraw %}`,
    'over 5000 tags and outputs',
  ],
  ['text', 'x'.repeat(MEBIBYTE + 1), 'over 1048576 characters'],
])('%s: refused', (_, source, message) => {
  expect(parseTemplate(source)).toMatchObject({ ok: false, message })
})

/** Each takes some 50 ms. What is bounded here took seconds, so this tells them apart on a busy machine too. */
const PARSE_MS_MAX = 1_500

test.each([
  ['as much text as fits', '{ '.repeat(MEBIBYTE / 2)],
  ['as many outputs as fit, far apart', `{{a}}${'x'.repeat(200)}`.repeat(5_000)],
  ['as many branches as fit', ifs('{% elsif b %}'.repeat(490)).repeat(5)],
  ['as many words as fit', `{% if a${' or a'.repeat(1_900)} %}{% endif %}`.repeat(2)],
  ['empty lines in comments', `{% # a${'\n'.repeat(9_900)}# %}`.repeat(26)],
  ['as many comments as fit', '{% comment %}{% endcomment %}'.repeat(1_600)],
  ['blocks in blocks', ('{% if a %}'.repeat(99) + '{% endif %}'.repeat(99)).repeat(14)],
])('%s: parsed quickly', (_, source) => {
  const begin = performance.now()
  expect(parseTemplate(source)).toEqual({ ok: true })
  expect(performance.now() - begin).toBeLessThan(PARSE_MS_MAX)
})

test('what an ordinary newsletter has stays far below the bounds', () => {
  const item = ifs('<td>{{ item.name | escape | upcase }} {{ item.at | date: "%d %B" }}</td>')
  const list = `{% for item in properties.items %}${item}{% else %}nothing{% endfor %}`
  expect(parseTemplate(list.repeat(100))).toEqual({ ok: true })
})

test('a line comment: each further line begins with # or is empty', () => {
  expect(parseTemplate('{% # one\n # two\n\n %}')).toEqual({ ok: true })
  const fault = {
    ok: false,
    message: "every line of an inline comment must start with a '#' character",
  }
  expect(parseTemplate('{% # one\n two %}')).toMatchObject(fault)
})

const text = (source: string, vars = {}) => {
  const rendered = renderEmail({ subject: source, html: null, text: null }, { vars })
  return rendered.ok ? rendered.subject : failureText(rendered)
}

test.each([
  '{% for i in (1..49999999) %}{% endfor %}',
  '{% for i in (first..last) %}{% endfor %}',
  '{% assign a = (1..100001) %}',
  '{% assign a = last | plus: 0 %}{{ (1..a) | size }}',
  '{{ "" | default: (1..last) | size }}',
  '{% tablerow i in (1..last) %}{% endtablerow %}',
])('a range of over 100,000 elements is refused before it is made: %s', (source) => {
  const before = process.memoryUsage().heapUsed
  const vars = { first: '1', last: 49_999_999 }
  expect(text(source, vars)).toBe('subject: a range of over 100000 elements')
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50 * MEBIBYTE)
})

test('a range of numbers to which nothing can be added is refused', () => {
  const vars = { a: 1e17, b: 1e17 + 64 }
  expect(text('{{ (a..b) | size }}', vars)).toBe('subject: a range of numbers that are too large')
})

test('ranges up to that, and empty ones', () => {
  expect(
    text('{{ (1..100000) | size }} {{ (3..1) | size }} {{ (a..b) | join: "" }}', { a: '1', b: 3 }),
  ).toBe('100000 0 123')
})
