// Which templates read a contact: found without rendering, in every place where Liquid takes a name.
import { describe, expect, it } from 'vitest'
import { findContactRead } from '../../../mail/content/names.ts'
import { renderEmail } from '../../../mail/content/template.ts'

const nested = `{{ vars.list | where_exp: "x", "x.a == contact.properties.plan" }}`

/** Each with the text that a refusal names. */
const reading: [source: string, named: string][] = [
  ['Hello {{ contact.first_name }}', 'contact.first_name'],
  ['{{ contact }}', 'contact'],
  ['{{ contact["email"] }}', 'contact["email"]'],
  ["{{ ['contact'].email }}", "['contact'].email"],
  ['{{ ["cont\\u0061ct"].email }}', '["cont\\u0061ct"].email'],
  ['{{ [which].email }}', '[which].email'],
  ['{% assign which = "con" | append: "tact" %}{{ [which] }}', '[which]'],
  ['{{ vars[contact.email] }}', 'contact.email'],
  ['{{ properties | json }}', 'properties'],
  ['{{ "a" | append: properties.plan }}', 'properties.plan'],
  ['{{ "a" | default: "b", allow_false: properties.flag }}', 'properties.flag'],
  ['{% assign c = contact %}{{ c.email }}', 'contact'],
  ['{% if false %}{% assign contact = 1 %}{% endif %}{{ contact.email }}', 'contact.email'],
  ['{% for p in contact %}{{ p }}{% endfor %}', 'contact'],
  ['{% for i in (1..properties.age) %}x{% endfor %}', 'properties.age'],
  ['{{ (1..properties.age).size }}', 'properties.age'],
  ['{% for i in vars.list limit: properties.age %}x{% endfor %}', 'properties.age'],
  ['{% tablerow p in contact %}{{ p }}{% endtablerow %}', 'contact'],
  ['{% tablerow p in vars.list cols: properties.age %}{% endtablerow %}', 'properties.age'],
  ['{% if properties.plan == "pro" %}x{% endif %}', 'properties.plan'],
  ['{% if a %}{% elsif properties.plan %}x{% endif %}', 'properties.plan'],
  ['{% if a %}{% else %}{{ properties.plan }}{% endif %}', 'properties.plan'],
  ['{% unless properties.plan %}x{% endunless %}', 'properties.plan'],
  ['{% case properties.plan %}{% when "pro" %}x{% endcase %}', 'properties.plan'],
  ['{% case a %}{% when properties.plan %}x{% endcase %}', 'properties.plan'],
  ['{% case a %}{% when 1 %}{% else %}{{ contact.email }}{% endcase %}', 'contact.email'],
  ['{% capture a %}{{ contact.email }}{% endcapture %}', 'contact.email'],
  ['{% echo contact.email %}', 'contact.email'],
  ['{% cycle contact.email, "b" %}', 'contact.email'],
  ['{% cycle contact.email: "a", "b" %}', 'contact.email'],
  [nested, 'contact.properties.plan'],
  ...['reject_exp', 'group_by_exp', 'find_exp', 'find_index_exp', 'has_exp'].map(
    (filter): [string, string] => [nested.replace('where_exp', filter), 'contact.properties.plan'],
  ),
  [`{{ a | find_exp: "x", "a | has_exp: 'y', 'y == properties.plan'" }}`, 'properties.plan'],
  ['{% assign e = "contact.email" %}{{ a | find_exp: "x", e }}', 'find_exp'],
  ['{% if a %}{% for i in b %}{{ contact.email }}{% endfor %}{% endif %}', 'contact.email'],
]

const innocent = [
  'Hello',
  'Hello {{ name }}, {{ vars.contact }}, {{ vars.properties.plan }}, {{ order.contact.email }}',
  '{{ "contact.email" | upcase }} contact.email {{ contacts }}',
  '{% raw %}{{ contact.email }}{% endraw %}{% comment %}{{ contact.email }}{% endcomment %}',
  '{{ vars.list | where: "contact", "x" | map: "properties" | join: ", " }}',
  '{{ vars.list | where_exp: "x", "x.contact == 1" }}',
  '{% for line in lines %}{{ line[0] }}{{ line["contact"] }}{{ forloop.index }}{% endfor %}',
]

describe('a template that reads a contact', () => {
  it.each(reading)('%s', (source, named) => {
    expect(findContactRead(source)).toBe(named)
  })
})

describe('a template that reads none', () => {
  it.each(innocent)('%s', (source) => {
    expect(findContactRead(source)).toBeNull()
  })
})

it('every template that shows a value of a contact is found', () => {
  const contact = { email: 'S3CRET', first_name: 'S3CRET', properties: { plan: 'S3CRET', age: 3 } }
  const scope = {
    contact,
    properties: contact.properties,
    vars: { list: [{ a: 'S3CRET' }], which: 'contact', lines: ['x'] },
  }
  const bare = { vars: { ...scope.vars, list: [{ a: 'x' }] } }
  const shows = (source: string, names: object) => {
    const rendered = renderEmail({ subject: '', html: null, text: source }, names)
    return rendered.ok && (rendered.text?.includes('S3CRET') ?? false)
  }
  const sources = [...reading.map(([source]) => source), ...innocent]
  const leaking = sources.filter((source) => shows(source, { ...scope, vars: bare.vars }))
  expect(leaking.length).toBeGreaterThan(10)
  expect(leaking.filter((source) => findContactRead(source) === null)).toEqual([])
  // And nothing can show what the scope does not hold.
  expect(sources.filter((source) => shows(source, bare))).toEqual([])
})

it('what does not parse reads nothing: parsing refuses it', () => {
  expect(findContactRead('{{ contact.email')).toBeNull()
})

it('expressions that would take long to be parsed count as reading', () => {
  const longOne = `{{ vars.list | where_exp: "x", "${'a or '.repeat(1_900)}b" }}`
  expect(findContactRead(longOne)).toBe('where_exp')
  const many = '{{ vars.list | where_exp: "x", "x.a" }}'.repeat(101)
  expect(findContactRead(many)).toBe('too many expressions')
  expect(findContactRead('{{ vars.list | where_exp: "x", "x.a" }}'.repeat(40))).toBeNull()
})
