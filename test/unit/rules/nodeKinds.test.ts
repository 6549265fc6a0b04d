// The registry and the schemas agree with the checks: every kind is listed, and every described field is checked.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { designSchemas, type JsonSchema } from '../../../rules/design/schema.ts'
import type { Design } from '../../../rules/design/types.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { nodeKinds, nodeRegistry } from '../../../rules/nodes/index.ts'
import { codesOf, looseDesign, welcomeContext, welcomeDesign } from './builders.ts'

const FOLDER = join(import.meta.dirname, '../../../rules/nodes')

test('every file that defines a kind is in the list', () => {
  const defining = readdirSync(FOLDER).filter((file) =>
    /= defineNode\(/.test(readFileSync(join(FOLDER, file), 'utf8')),
  )
  const camel = (type: string) => type.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
  expect(defining.sort()).toEqual(nodeKinds.map(({ type }) => `${camel(type)}.ts`).sort())
})

test('the TypeScript types of a node come from its kind', () => {
  const nodes: Design['nodes'] = [
    { id: 'a', type: 'delay', data: { ms: 5 } },
    // @ts-expect-error a delay has no such data
    { id: 'b', type: 'delay', data: { milliseconds: 5 } },
    // @ts-expect-error there is no such kind
    { id: 'c', type: 'teleport', data: {} },
  ]
  expect(nodes).toHaveLength(3)
})

const schemas = designSchemas()

describe('descriptions', () => {
  const silent = (schema: unknown, path: string): string[] => {
    if (typeof schema !== 'object' || schema === null) return []
    const fields = Object.entries((schema as JsonSchema)['properties'] ?? {})
    const named = path.endsWith('Node') ? ['id', 'type', 'data'] : []
    const here = fields
      .filter(([name, field]) => !named.includes(name) && !(field as JsonSchema)['description'])
      .map(([name]) => `${path}.${name}`)
    const inner = Object.entries(schema).flatMap(([key, one]) =>
      key === 'properties'
        ? fields.flatMap(([name, field]) => silent(field, `${path}.${name}`))
        : silent(one, path),
    )
    return [...here, ...inner]
  }
  test('every field of every kind, edge, setting and condition has one', () => {
    const { Design: design, ...parts } = schemas
    expect(design?.['description']).toMatch(/draft/)
    expect(Object.entries(parts).flatMap(([name, schema]) => silent(schema, name))).toEqual([])
  })
  test('and so has every kind', () => {
    for (const { type } of nodeKinds) {
      const name = Object.keys(schemas).find(
        (one) => one.toLowerCase() === `${type.replaceAll('_', '')}node`,
      )
      expect([type, schemas[name ?? '']?.['description']]).toEqual([
        type,
        expect.stringMatching(/\.$/),
      ])
    }
  })
})

describe('the schema of a design', () => {
  const rebased = JSON.parse(
    JSON.stringify(schemas).replaceAll('#/components/schemas/', '/schemas/'),
  ) as Record<string, JsonSchema>
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  for (const [name, schema] of Object.entries(rebased)) ajv.addSchema(schema, `/schemas/${name}`)
  const fits = ajv.getSchema('/schemas/Design')

  test('accepts designs that may be activated', () => {
    expect([fits?.(welcomeDesign()), fits?.errors]).toEqual([true, null])
  })
  test.each<[string, (design: ReturnType<typeof looseDesign>) => void]>([
    ['an unknown kind', ({ nodes }) => nodes.push({ id: 'a', type: 'teleport', data: {} })],
    [
      'a mail of no known category',
      ({ nodes }) => Object.assign(nodes[1]?.['data'] ?? {}, { category: 'spam' }),
    ],
    ['both ways to say a delay', ({ nodes }) => Object.assign(nodes[2]?.['data'] ?? {}, { ms: 5 })],
    ['a wait without event', ({ nodes }) => Object.assign(nodes[3] ?? {}, { data: {} })],
    ['an edge to nowhere', ({ edges }) => Object.assign(edges[0] ?? {}, { target: undefined })],
    [
      'a condition of no type',
      ({ nodes }) => Object.assign(nodes[6] ?? {}, { data: { condition: {} } }),
    ],
  ])('refuses %s', (_name, breakIt) => {
    const design = looseDesign()
    breakIt(design)
    const sent = JSON.parse(JSON.stringify(design))
    expect(fits?.(sent)).toBe(false)
    expect(validateDesign(sent, welcomeContext)).not.toEqual([])
  })
})

/** Data of each kind with every field. */
const samples: Record<(typeof nodeKinds)[number]['type'], object[]> = {
  trigger: [
    { kind: 'event', event_name: 'a' },
    { kind: 'audience_joined', audience_id: 'aud_1' },
    { kind: 'segment_left', segment_id: 'seg_1' },
    { kind: 'property_changed', path: 'a' },
    { kind: 'email_event', status: 'opened' },
    { kind: 'schedule', cron: '0 9 * * *', audience_id: 'aud_1' },
  ],
  send_email: [{ subject: 'S', html: 'H' }, { template_id: 'welcome' }],
  delay: [{ ms: 5 }, { duration: 'P1D' }],
  wait_until: [{ at: 5 }, { property_path: 'a' }],
  wait_for_event: [{ event_name: 'a' }],
  wait_for_condition: [{ condition: { type: 'rule', field: 'event.a', operator: 'exists' } }],
  goal: [{ event_name: 'a' }],
  add_to_audience: [{ audience_id: 'aud_1' }],
  remove_from_audience: [{ audience_id: 'aud_1' }],
  unsubscribe: [{}],
  send_event: [{ event_name: 'a' }],
  start_workflow: [{ workflow_id: 'wf_1' }],
  cancel_workflow: [{ workflow_id: 'wf_1' }],
  http_request: [{ method: 'GET', url: 'https://a.test/' }],
  time_window: [{ days: ['mon'], start: '09:00', end: '17:00' }],
  condition: [{ condition: { type: 'rule', field: 'event.a', operator: 'exists' } }],
  branch: [{ branches: [] }],
  split: [{ variants: [{ id: 'a', weight: 1 }] }],
  filter: [{ condition: { type: 'rule', field: 'event.a', operator: 'exists' } }],
  update_contact: [{ unset: ['a'] }],
  exit: [{}],
  note: [{}],
}
/** Fields without a check: nothing reads them, or they take any value. */
const unread = ['note.text', 'trigger.from', 'trigger.to']

function fieldsOf(schema: JsonSchema): string[] {
  const alternatives = (schema['oneOf'] ?? schema['anyOf'] ?? []) as JsonSchema[]
  return [...Object.keys(schema['properties'] ?? {}), ...alternatives.flatMap(fieldsOf)]
}

test.each(nodeKinds.map(({ type }) => type))('every field of %s is checked', (type) => {
  const schema = Object.values(schemas).find((one) => {
    const { properties } = one as { properties?: { type?: { const?: string } } }
    return properties?.type?.const === type
  }) as { properties: { data: JsonSchema } }
  const fields = fieldsOf(schema.properties.data)
  const unchecked = [...new Set(fields)].filter((field) =>
    samples[type].every((sample) => {
      // No field is a list of lists.
      const data = { ...sample, [field]: [[]] }
      const design = { nodes: [{ id: 'n', type, data }], edges: [] }
      return !codesOf(design).some((code) => code.startsWith(`nodes.0.data.${field}`))
    }),
  )
  expect(unchecked.map((field) => `${type}.${field}`)).toEqual(
    unread.filter((one) => one.startsWith(`${type}.`)),
  )
  expect(nodeRegistry.find(type)?.type).toBe(type)
})
