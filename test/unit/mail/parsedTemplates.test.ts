// What is kept of parsed templates: bounded by the memory that they take, and nothing is parsed twice.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from 'vitest'
import { checkContactReads, checkTemplateParts } from '../../../commands/templates/faults.ts'
import { boundKept, keptBytes } from '../../../mail/content/parsed.ts'
import { parseTemplate, renderEmail } from '../../../mail/content/template.ts'
import { MEBIBYTE } from '../../../rules/limits.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

afterEach(() => boundKept(32 * MEBIBYTE))

function usedBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

const BOUND_BYTES = 8 * MEBIBYTE
/** What else this process keeps meanwhile. */
const NOISE_BYTES = MEBIBYTE

/** Of each kind there are as many as are needed to fill what may be kept. */
test.each([
  ['outputs', '{{a}}'.repeat(1_000)],
  ['outputs in text', '{{a}}x'.repeat(1_000)],
  ['outputs with filters', '{{ a | upcase | escape | default: 1 }}'.repeat(400)],
  ['filters', `{{ a${'|abs'.repeat(1_900)}}}`.repeat(2)],
  ['arguments', `{{ a | append: 1${',1'.repeat(1_900)}}}`.repeat(2)],
  ['named arguments', `{{ a | default: 1${',b:1'.repeat(900)}}}`.repeat(2)],
  ['conditions', `{% if a${' or a'.repeat(1_900)} %}{% endif %}`.repeat(2)],
  ['comparisons', `{% if a${'<a'.repeat(1_900)} %}{% endif %}`.repeat(2)],
  ['properties', `{{ a${'.a'.repeat(1_900)}}}`.repeat(2)],
  ['indexes', `{{ a${'[0]'.repeat(49)}}}`.repeat(60)],
  ['ranges', '{{ (1..2) | size }}'.repeat(700)],
  ['quotes', `{{ ${'"" '.repeat(1_900)}}}`.repeat(2)],
  ['branches', `{% if a %}${'{% elsif b %}'.repeat(490)}{% endif %}`.repeat(4)],
  ['cases', `{% case a %}${'{% when 1 %}'.repeat(490)}{% endcase %}`.repeat(4)],
  ['loops', '{% for a in b limit:1 %}x{% endfor %}'.repeat(500)],
  ['assignments', '{% assign a = 1 %}'.repeat(1_500)],
  ['cycles', '{% cycle 1, 2, 3 %}'.repeat(900)],
  ['comments', '{% comment %}x{% endcomment %}'.repeat(1_500)],
  ['text', 'x'.repeat(100_000)],
  ['text that is not of Latin letters', '\u4e00'.repeat(100_000)],
])('%s: no more memory than counted', (_, source) => {
  boundKept(BOUND_BYTES)
  parseTemplate(source, 'html')
  boundKept(BOUND_BYTES)
  const before = usedBytes()
  let counted = -1
  for (let i = 0; keptBytes() > counted; i++) {
    counted = keptBytes()
    expect(parseTemplate(`${i}${source}`, i % 2 ? 'html' : 'text')).toEqual({ ok: true })
  }
  expect(counted).toBeGreaterThan(BOUND_BYTES / 4)
  expect(usedBytes() - before).toBeLessThan(counted + NOISE_BYTES)
})

test('the largest template that parses fits', () => {
  const source = '{{a}}x'.repeat(5_000)
  expect(parseTemplate(source, 'html')).toEqual({ ok: true })
  expect(keptBytes()).toBeGreaterThan(source.length)
})

test('what is checked, searched for names and rendered is parsed once', () => {
  const parts = {
    subject: 'S {{ a }}',
    html: '<p>{{ a }}</p>',
    text: '{{ a }}',
    preview_text: 'P {{ a }}',
  }
  boundKept(BOUND_BYTES)
  expect(checkTemplateParts(parts)).toBe(undefined)
  const parsed = keptBytes()
  expect(parsed).toBeGreaterThan(0)
  expect(checkContactReads(parts)).toBe(undefined)
  expect(renderEmail(parts, {})).toMatchObject({ ok: true })
  expect(keptBytes()).toBe(parsed)
})

test('the same source in html and in text is kept for both', () => {
  boundKept(BOUND_BYTES)
  const source = '{{ a }}'
  const render = () =>
    renderEmail({ subject: '', html: source, text: source }, { vars: { a: '<' } })
  expect(render()).toMatchObject({ html: '&lt;', text: '<' })
  const parsed = keptBytes()
  expect(render()).toMatchObject({ html: '&lt;', text: '<' })
  expect(keptBytes()).toBe(parsed)
})
