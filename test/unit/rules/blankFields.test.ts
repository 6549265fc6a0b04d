// A field that is left blank, null or '', is an absent one: for validation, for where executions begin, and when they run. All
// fields of all kinds and of the settings are taken from their schemas, so that none is forgotten.
import { expect, test } from 'vitest'
import { designSchemas, type JsonSchema } from '../../../rules/design/schema.ts'
import { eventTriggers, scheduleTriggers, triggerByHand } from '../../../rules/design/triggers.ts'
import type { Design } from '../../../rules/design/types.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { SegmentTools } from '../../../rules/interpreterTypes.ts'
import { interruption, interruptsOf } from '../../../rules/interrupts.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../rules/json.ts'
import { nodeKinds, nodeRegistry } from '../../../rules/nodes/index.ts'
import { factsOf, now, welcomeContext } from './builders.ts'
import { exists } from './runners.ts'

const schemas = designSchemas()
const from = 'a@demo.test'
const reEntry = { re_entry: { mode: 'interval', min_interval_ms: 5 } }

/** Valid data of each kind: each of its alternatives, and each field that holds fields of ours. */
const samples: Record<(typeof nodeKinds)[number]['type'], JsonObject[]> = {
  trigger: [
    { kind: 'event', event_name: 'a', ...reEntry },
    { kind: 'manual', re_entry: { mode: 'once' } },
    { kind: 'audience_joined', audience_id: 'aud_1' },
    { kind: 'audience_left', audience_id: 'aud_1' },
    { kind: 'contact_created' },
    { kind: 'property_changed', path: 'a' },
    { kind: 'email_event', status: 'opened' },
    { kind: 'segment_entered', segment_id: 'seg_1' },
    { kind: 'segment_left', segment_id: 'seg_1' },
    { kind: 'schedule', cron: '0 9 * * *', audience_id: 'aud_1' },
    { kind: 'schedule', at: 5, audience_id: 'aud_1' },
  ],
  send_email: [
    { subject: 'S', html: 'H', from, utm: { source: 'news' } },
    { subject: 'S', text: 'T' },
    { template_id: 'welcome' },
  ],
  delay: [{ ms: 5 }, { duration: 'P1D' }],
  wait_until: [{ at: now + 5 }, { at: 5 }, { property_path: 'a' }],
  wait_for_event: [{ event_name: 'a', match: [{ event_path: 'a', equals_path: 'event.a' }] }],
  wait_for_condition: [{ condition: { ...exists } }],
  goal: [{ event_name: 'a' }, { condition: { ...exists } }],
  add_to_audience: [{ audience_id: 'aud_1' }],
  remove_from_audience: [{ audience_id: 'aud_1' }],
  unsubscribe: [{}],
  send_event: [{ event_name: 'a' }],
  start_workflow: [{ workflow_id: 'wf_1' }],
  cancel_workflow: [{ workflow_id: 'wf_1' }],
  http_request: [{ method: 'POST', url: 'https://a.test/' }],
  time_window: [{ days: ['mon'], start: '09:00', end: '17:00' }],
  condition: [{ condition: { ...exists } }],
  branch: [{ branches: [{ id: 'a', condition: { ...exists, operator: 'not_exists' } }] }],
  split: [{ variants: [{ id: 'a', weight: 1 }] }],
  filter: [{ condition: { ...exists } }],
  update_contact: [{ unset: ['a'] }, { set: { a: 1 } }, { increment: { a: 1 } }],
  exit: [{}],
  note: [{}],
}

interface Fields {
  /** Names of the fields of all alternatives. */
  names: string[]
  /** Of fields that hold fields of ours, or a list of such: what is inside. */
  inside: Record<string, Fields>
}

/** A condition is a schema of its own, which names no field that may be left blank. */
function fieldsOf(schema: JsonSchema): Fields {
  const own = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>)
  const found: Fields = { names: own.map(([name]) => name), inside: {} }
  for (const [name, { items, ...field }] of own) {
    const inner = fieldsOf((items as JsonSchema | undefined) ?? field)
    if (inner.names.length > 0) found.inside[name] = inner
  }
  for (const one of (schema['oneOf'] ?? schema['anyOf'] ?? []) as JsonSchema[]) {
    const { names, inside } = fieldsOf(one)
    found.names = [...new Set([...found.names, ...names])]
    Object.assign(found.inside, inside)
  }
  return found
}

interface Variant {
  path: string
  data: JsonObject
}

/** The data with each field blank that it does not have, one at a time. */
function blanked(data: JsonObject, { names, inside }: Fields, blank: Json): Variant[] {
  const absent = names.filter((name) => !Object.hasOwn(data, name))
  const here = absent.map((name) => ({ path: name, data: { ...data, [name]: blank } }))
  const deeper = Object.entries(inside).flatMap(([name, fields]) => {
    const value = data[name]
    const list = Array.isArray(value)
    const inner = list ? value[0] : value
    if (!isJsonObject(inner)) return []
    return blanked(inner, fields, blank).map((one) => ({
      path: `${name}.${one.path}`,
      data: { ...data, [name]: list ? [one.data] : one.data },
    }))
  })
  return [...here, ...deeper]
}

/** Fields that hold fields of ours, by which a sample must show what becomes of a blank one inside. */
const notSampled = (of: JsonObject[], { inside }: Fields): string[] =>
  Object.keys(inside).filter((name) => !of.some((data) => Object.hasOwn(data, name)))

/** All that becomes of a design: its problems, where it begins, and a walk with all that its nodes do. */
function resultOf(nodes: object[], settings: object = {}): unknown {
  const design = { nodes, edges: edgesAmong(nodes), settings } as unknown as Design
  const mails: object[] = []
  const tools: SegmentTools = {
    sendEmail(_, mail) {
      mails.push(mail)
      return { kind: 'suppressed' }
    },
  }
  const facts = { ...factsOf(), marketingSent: [now - 1] }
  const nodeId = 'n'
  const stored = JSON.parse(JSON.stringify(interruptsOf(design)))
  return {
    problems: validateDesign(design, welcomeContext),
    begins: [eventTriggers(design), scheduleTriggers(design), triggerByHand(design)],
    interrupts: [stored, interruption(stored, facts)],
    walk: walkSegment(design, { kind: 'trigger', nodeId }, facts, tools),
    mails,
  }
}

/** Every handle of the node `n` leads to its own end. */
function edgesAmong(nodes: object[]): object[] {
  const ends = nodes.flatMap((node) => ('id' in node && node.id !== 'n' ? [String(node.id)] : []))
  return ends.flatMap((id, i) =>
    id.startsWith('to_')
      ? [{ id: `e${i}`, source: 'n', sourceHandle: id.slice(3), target: id }]
      : [{ id: `e${i}`, source: id, target: 'n' }],
  )
}

function designWith(type: string, data: JsonObject): object[] {
  const kind = nodeRegistry.find(type)
  const { required, optional } = kind?.handles(data) ?? { required: [], optional: [] }
  const ends = [...required, ...optional].map((handle) => ({
    id: `to_${handle}`,
    type: 'exit',
    data: { outcome: handle },
  }))
  const isLedTo = kind?.role === undefined || kind.role === 'step' || kind.role === 'goal'
  const start = { id: 't', type: 'trigger', data: { kind: 'manual' } }
  return [...(isLedTo ? [start] : []), { id: 'n', type, data }, ...ends]
}

const settings = { default_from: from }

/** What the property is compared with. */
const isCompared = (path: string): boolean => /^(from|to)$/.test(path)

const blanks: [string, Json][] = [
  ['null', null],
  ["''", ''],
]
const cases = nodeKinds.flatMap(({ type }) =>
  blanks.map(([name, blank]) => [name, type, blank] as const),
)

test.each(cases)('a field that is %s in %s is an absent one', (_, type, blank) => {
  const schema = Object.values(schemas).find((one) => {
    const { properties } = one as { properties?: { type?: { const?: string } } }
    return properties?.type?.const === type
  }) as { properties: { data: JsonSchema } }
  const fields = fieldsOf(schema.properties.data)
  expect(notSampled(samples[type], fields)).toEqual([])
  for (const data of samples[type]) {
    const absent = resultOf(designWith(type, data), settings)
    for (const one of blanked(data, fields, blank)) {
      if (type === 'trigger' && isCompared(one.path)) continue
      const found = resultOf(designWith(type, one.data), settings)
      expect({ path: one.path, data, found }).toEqual({ path: one.path, data, found: absent })
    }
  }
})

test.each(blanks)('a setting that is %s is an absent one', (_, blank) => {
  const fields = fieldsOf(schemas['DesignSettings'] ?? {})
  const samples = [{}, { frequency_cap: { count: 1, per_ms: 1_000 } }]
  expect(notSampled(samples, fields)).toEqual([])
  for (const data of samples) {
    for (const kind of [
      designWith('send_email', { subject: 'S', html: 'H', from }),
      designWith('send_email', { subject: 'S', html: 'H', from }).slice(0, 2),
      designWith('delay', { ms: 60_000 }),
      designWith('wait_until', { property_path: 'a' }),
      designWith('trigger', { kind: 'schedule', cron: '0 9 * * *', audience_id: 'aud_1' }),
    ]) {
      const absent = resultOf(kind, data)
      for (const one of blanked(data, fields, blank)) {
        const found = resultOf(kind, one.data)
        expect({ path: one.path, found }).toEqual({ path: one.path, found: absent })
      }
    }
  }
})

test('null and an empty text are values that the property of property_changed is compared with', () => {
  const filterOf = (data: JsonObject) => {
    const nodes = designWith('trigger', { kind: 'property_changed', path: 'plan', ...data })
    return eventTriggers({ nodes, edges: [] } as unknown as Design)[0]?.filter
  }
  // At none of them such a trigger fires at every change.
  for (const value of ['', null]) {
    const rule = { type: 'rule', field: 'event.to', operator: 'eq', value }
    expect(filterOf({ to: value })).toEqual(rule)
  }
})

test('a version whose stored interrupts hold a blank longest duration has none', () => {
  const stored = { exits: [], goals: [], maxDurationMs: '' as unknown as number }
  expect(interruption(stored, factsOf())).toBeNull()
})

test("what is the customer's own may be null or ''", () => {
  const properties = { a: null, b: '', utm: { source: '' } }
  const nodes = designWith('send_event', { event_name: 'a', properties })
  const { next } = walkSegment(
    { nodes, edges: edgesAmong(nodes) } as unknown as Design,
    { kind: 'trigger', nodeId: 'n' },
    factsOf(),
    { sendEmail: () => ({ kind: 'sent' }) },
  )
  expect(next).toMatchObject({ effect: { properties } })
})
