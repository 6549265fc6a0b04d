// Outputs are looked up without the engine's generators: they write what the engine itself writes.
import { Liquid } from 'liquidjs'
import { describe, expect, test } from 'vitest'
import { parsePart, renderPart, type TemplateMode } from '../../../mail/content/liquid.ts'
import { checkRange, RANGE_CHECK } from '../../../mail/content/ranges.ts'

const names = {
  name: 'Ada & Bob',
  empty: '',
  nothing: null,
  no: false,
  count: 3,
  at: '2026-11-21T10:00:00Z',
  tags: ['a', '<b>', 'c'],
  key: 'name',
  order: { id: 'o-1', 'with space': 1, items: [{ name: 'x', price: 2 }, { name: 'y' }], size: 9 },
  odd: { first: 'f', last: 'l', length: 7 },
  __proto__: null,
}

const operands = [
  'name',
  'order.id',
  'order["with space"]',
  'order.items[0].name',
  'order.items[-1].price',
  'order.items.first.name',
  'order.items.last.price',
  'order.items.size',
  'order.size',
  'odd.first',
  'odd.size',
  'tags[1]',
  'tags["1"]',
  'order[key]',
  'missing',
  'missing.deep.er',
  'name.length',
  'name.constructor',
  'nothing.x',
  'nothing',
  'no',
  'empty',
  'blank',
  'nil',
  'true',
  '-1.50',
  '"a quoted &"',
  'tags',
  'order',
  'count == 3',
  'name contains "Ada" and no',
  '(1..3)',
]
const filters = [
  '',
  ' | default: "you"',
  ' | default: missing.too',
  ' | default: no, allow_false: true',
  ' | append: order.id | upcase',
  ' | append: gone | size',
  ' | raw',
  ' | escape',
  ' | json',
  ' | date: "%Y"',
  ' | plus: count | times: 2',
  ' | first',
  ' | map: "name" | join: key',
  ' | where: "price", 2 | size',
  ' | where_exp: "x", "x.price == count" | json',
  ' | find_exp: "x", "x.price == 2"',
]

function plainEngine(mode: TemplateMode): Liquid {
  const escaping = mode === 'html' ? { outputEscape: 'escape' as const } : {}
  const common = { ownPropertyOnly: true, strictFilters: true, timezoneOffset: 0, locale: 'en-US' }
  const engine = new Liquid({ ...common, ...escaping })
  engine.registerFilter(RANGE_CHECK, checkRange)
  engine.registerFilter('size', (value) =>
    typeof value === 'string' || Array.isArray(value) ? value.length : 0,
  )
  return engine
}

const attempt = (render: () => string) => {
  try {
    return { output: render() }
  } catch {
    return 'a fault'
  }
}

describe.each(['html', 'text'] as const)('%s', (mode) => {
  const engine = plainEngine(mode)

  test.each(operands)('{{ %s }} with every filter', (operand) => {
    for (const filter of filters) {
      for (const source of [
        `a{{ ${operand}${filter} }}b`,
        `{% for i in (1..2) %}{{ ${operand}${filter} }}{{- i }} {% endfor %}`,
        `{% assign v = ${operand}${filter} %}{{ v }}{% capture w %}<{{ v | upcase }}>{% endcapture %}{{ w }}`,
        `{% if no %}{% elsif count %}  {%- case count %}{% when 3 %}{{ ${operand}${filter} }}{% endcase %}{% endif %}`,
      ]) {
        const ours = renderPart(source, mode, names, new Set(), 1_000_000)
        const wanted = attempt(() => engine.parseAndRenderSync(source, names))
        expect(ours.ok ? { output: ours.output } : 'a fault', source).toEqual(wanted)
      }
    }
  })
})

test('names that have no value are noted in the order in which they stand, each once', () => {
  const missing = new Set<string>()
  const source =
    '{{ b.c | append: a }}{{ a }}{{ order.items[3].name }}{{ x | default: y }}{% if z %}{% endif %}{{ q | upcase | default: "1" }}'
  expect(renderPart(source, 'text', names, missing, 1_000_000)).toMatchObject({ ok: true })
  expect([...missing]).toEqual(['b.c', 'a', 'order.items.3.name', 'q'])
})

test('a fault inside an output names its place', () => {
  const source = `one\n{{ "x" | append: tags | date: "%99999999Y" | split: "" | map: "a" }}`
  expect(
    renderPart(`${source}{{ (1..100000000) | size }}`, 'text', names, new Set(), 1_000_000),
  ).toMatchObject({
    ok: false,
    line: 2,
  })
  expect(parsePart('{{ a | nothing_of_the_kind }}', 'text')).toMatchObject({ ok: false, line: 1 })
})
