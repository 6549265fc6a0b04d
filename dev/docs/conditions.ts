// Tables of the condition language: its parts, the fields that it reads, and its operators.
import type { Field } from '../../rules/conditions/fields.ts'
import { operatorRows, operatorTexts } from '../../rules/conditions/operators.ts'
import { valueText } from '../../rules/conditions/operatorValues.ts'
import { type Operator, operators } from '../../rules/conditions/types.ts'
import { type ConditionScope, validateCondition } from '../../rules/conditions/validate.ts'
import { designSchemas } from '../../rules/design/schema.ts'
import { isJsonObject, type Json, type JsonObject } from '../../rules/json.ts'
import { fieldsTable } from './fields.ts'
import { code, codes, markdownTable } from './markdown.ts'

interface Part {
  types: string[]
  schema: JsonObject
}

/** The kinds of condition, as the schema has them. */
function partsOf(): Part[] {
  const options = designSchemas()['Condition']?.['oneOf']
  if (!Array.isArray(options)) throw new Error('the schema of conditions has no alternatives')
  return options.filter(isJsonObject).map((schema) => {
    const { type } = schema['properties'] as Record<string, JsonObject>
    const types = (type?.['enum'] ?? [type?.['const']]) as string[]
    return { types, schema }
  })
}

/** What each kind of condition asks. */
function conditionsTable(): string {
  return markdownTable(
    ['type', 'what it asks'],
    partsOf().map(({ types, schema }) => [
      types.map(code).join(' or '),
      String(schema['description'] ?? ''),
    ]),
  )
}

/** The fields of one kind of condition. */
const partTable = (name: string) => () => {
  const part = partsOf().find(({ types }) => types.includes(name))
  if (!part) throw new Error(`there is no condition of type ${name}`)
  return fieldsTable(part.schema)
}

/** The names below each root, with an example that can be validated, and what they hold. */
const fieldTexts: Record<Field['root'], [name: string, example: string, text: string][]> = {
  contact: [
    ['contact.email', 'contact.email', 'The address, in lower case'],
    ['contact.first_seen', 'contact.first_seen', 'When their first event happened, in ms'],
  ],
  properties: [
    [
      'properties.NAME',
      'properties.plan',
      "A property of the contact, with this execution's own changes",
    ],
  ],
  event: [
    [
      'event.NAME',
      'event.plan',
      'A property of the event that started the execution. In a `filter`: of the arriving event',
    ],
  ],
  trigger: [
    [
      'trigger.NAME',
      'trigger.plan',
      'In the `filter` of a wait: a property of the event that started the execution',
    ],
  ],
  wait_events: [
    [
      'wait_events.NODE.NAME',
      'wait_events.wait.amount',
      'A property of the event that ended the wait of that node, the latest where it waited more than once',
    ],
  ],
  steps: [
    [
      'steps.NAME.body.PATH',
      'steps.credit.body.score',
      'What came back from the `http_request` node whose `store_as` is that name; `steps.NAME.status` and `steps.NAME.headers` too',
    ],
  ],
  execution: [
    [
      'execution.step_count',
      'execution.step_count',
      'How many nodes the execution has entered, this one included',
    ],
  ],
}

const scopes: ConditionScope[] = ['node', 'trigger_filter', 'wait_filter']

/** Where a condition may be written without a problem, as the code answers. */
function knownIn(condition: JsonObject): string[] {
  return scopes.map((scope) => {
    const at = {
      nodeId: null,
      scope,
      waitNodes: new Set(['wait']),
      storedNames: new Set(['credit']),
      sendNodes: new Set(['mail']),
    }
    return validateCondition(condition, '', at).length === 0 ? 'yes' : 'no'
  })
}

const places = ['in a node', 'in the `filter` of a trigger', 'in the `filter` of a wait']

/** Every field, what it holds, and where it is known. */
function fieldsKnownTable(): string {
  const rows = Object.values(fieldTexts).flat()
  return markdownTable(
    ['field', 'what it holds', ...places],
    rows.map(([name, field, text]) => {
      return [code(name), text, ...knownIn({ type: 'rule', field, operator: 'exists' })]
    }),
  )
}

/** Every operator: what it says, which value it takes, what a missing field makes of it, and whether `ci` matters. */
function operatorsTable(): string {
  return markdownTable(
    ['operator', 'holds for a field when', '`value`', 'a missing field', '`ci`'],
    operators.map((operator) => [
      code(operator),
      operatorTexts[operator],
      valueText(operator),
      operatorRows[operator].missing ? 'holds' : 'does not hold',
      heedsCase(operator) ? 'yes' : '',
    ]),
  )
}

/** Whether `ci` changes what the operator says of `A` beside `a`. */
function heedsCase(operator: Operator): boolean {
  const { test, value } = operatorRows[operator]
  const given = { value: value === 'list' ? ['a'] : 'a', now: 0 }
  return test('A', { ...given, ci: true }) !== test('A', { ...given, ci: false })
}

/** The operators that a missing field makes true, in one line. */
const missingLine = () =>
  `With a missing field these hold: ${codes(operators.filter((name) => operatorRows[name].missing))}. No other does.`

/** For each operator a `value` and fields to compare with it; what it says of each, the code answers. */
const samples: Record<Operator, [value: Json | undefined, ...fields: Json[]]> = {
  eq: ['pro', 'pro', 'Pro', null],
  neq: [5, 4, '5', 5],
  gt: [5, 6, 5, '6'],
  gte: [5, 5, 4],
  lt: ['b', 'a', 'b', 1],
  lte: [5, 5, 6],
  contains: ['cat', 'a cat', ['cat', 'dog'], 'a dog', ['cats']],
  not_contains: ['cat', 'a dog', 5, 'a cat'],
  starts_with: ['INV', 'INV-7', 'inv-7', 'A-INV'],
  ends_with: ['.org', 'acme.org', 'acme.com'],
  in: [['pro', 'team'], 'pro', 'free'],
  not_in: [['pro', 'team'], 'free', 'pro'],
  exists: [undefined, '', null, false],
  not_exists: [undefined, '', null],
  is_empty: [undefined, '', null, [], {}, 0, false],
  is_not_empty: [undefined, 'a', 0, '', []],
  is_true: [undefined, true, 'true', 1],
  is_false: [undefined, false, 0, null],
  before: ['2026-03-01', '2026-02-28T23:59:59Z', '2026-03-01', 'soon'],
  after: ['2026-03-01', '2026-03-01T00:00:01Z', '2026-03-01', 'soon'],
  within_last: ['P7D', '2026-03-09', '2026-03-01', '2026-03-11'],
  older_than: ['P7D', '2026-03-01', '2026-03-09', '2026-03-11'],
}
const NOON = Date.UTC(2026, 2, 10, 12)

/** Every operator with a value, fields for which it holds, and fields for which it does not. */
function operatorExamplesTable(): string {
  const rows = operators.map((operator) => {
    const [value, ...fields] = samples[operator]
    const holds = (field: Json) =>
      operatorRows[operator].test(field, { value, ci: false, now: NOON })
    const those = (is: boolean) => fields.filter((field) => holds(field) === is)
    const shown = (found: Json[]) => codes(found.map((field) => JSON.stringify(field)))
    const given = value === undefined ? '' : code(JSON.stringify(value))
    return [code(operator), given, shown(those(true)), shown(those(false))]
  })
  return markdownTable(['operator', '`value`', 'holds for', 'does not hold for'], rows)
}

export const conditionTables = {
  conditions: conditionsTable,
  'condition:and': partTable('and'),
  'condition:rule': partTable('rule'),
  'condition:event_count': partTable('event_count'),
  'condition:email_activity': partTable('email_activity'),
  'condition:audience': partTable('audience'),
  'condition:segment': partTable('segment'),
  'condition-fields': fieldsKnownTable,
  operators: operatorsTable,
  'operators-missing': missingLine,
  'operator-examples': operatorExamplesTable,
}
