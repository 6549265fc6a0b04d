// The shape that a draft must have, and that the checks accept any JSON without throwing.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { designReferences } from '../../../rules/design/references.ts'
import { checkDesignShape } from '../../../rules/design/shape.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { limits } from '../../../rules/limits.ts'
import { codesOf, edgesOf, looseDesign, welcomeContext, welcomeDesign } from './builders.ts'

type Loose = { [key: string]: unknown }

describe('checkDesignShape', () => {
  test('a finished and an empty design have the shape', () => {
    expect(checkDesignShape(welcomeDesign())).toEqual({ design: welcomeDesign() })
    expect(checkDesignShape({ nodes: [], edges: [] })).toHaveProperty('design')
  })
  test('a draft may be unfinished', () => {
    const design = { nodes: [{ id: 'n', type: 'unheard_of', data: {} }], edges: edgesOf('n>gone') }
    expect(checkDesignShape(design)).toEqual({ design })
  })
  const node = { id: 'a', type: 'exit', data: {} }
  const edge = { id: 'e', source: 'a', target: 'b' }
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ ...node, ...edge, id: `i${i}` }))
  test.each<[string, unknown, string[]]>([
    ['null', null, [' bad_design']],
    ['an array', [], [' bad_design']],
    ['text', 'design', [' bad_design']],
    ['nothing in it', {}, ['nodes bad_design', 'edges bad_design']],
    ['nodes as object', { nodes: {}, edges: [] }, ['nodes bad_design']],
    ['a node as text', { nodes: ['a'], edges: [] }, ['nodes.0 bad_node']],
    [
      'an empty node',
      { nodes: [{}], edges: [] },
      ['nodes.0.type bad_node', 'nodes.0.data bad_node', 'nodes.0.id bad_id'],
    ],
    ['data as list', { nodes: [{ ...node, data: [] }], edges: [] }, ['nodes.0.data bad_node']],
    ['type as number', { nodes: [{ ...node, type: 1 }], edges: [] }, ['nodes.0.type bad_node']],
    ['an id with a dot', { nodes: [{ ...node, id: 'a.b' }], edges: [] }, ['nodes.0.id bad_id']],
    ['an id of 65', { nodes: [{ ...node, id: 'x'.repeat(65) }], edges: [] }, ['nodes.0.id bad_id']],
    ['an id twice', { nodes: [node, node], edges: [] }, ['nodes.1.id duplicate_id']],
    ['an edge as null', { nodes: [], edges: [null] }, ['edges.0 bad_edge']],
    [
      'an empty edge',
      { nodes: [], edges: [{}] },
      ['edges.0.id bad_id', 'edges.0.source bad_edge', 'edges.0.target bad_edge'],
    ],
    ['an edge id twice', { nodes: [], edges: [edge, edge] }, ['edges.1.id duplicate_id']],
    [
      'a handle as number',
      { nodes: [], edges: [{ ...edge, sourceHandle: 1 }] },
      ['edges.0.sourceHandle bad_edge'],
    ],
    ['settings as list', { nodes: [], edges: [], settings: [] }, ['settings bad_settings']],
    ['too many nodes', { nodes: many(limits.designNodesMax + 1), edges: [] }, ['nodes too_many']],
    ['too many edges', { nodes: [], edges: many(limits.designEdgesMax + 1) }, ['edges too_many']],
    ['too large', { nodes: [], edges: [], x: 'x'.repeat(limits.designBytesMax) }, [' too_large']],
    ['a NUL', { nodes: [], edges: [], x: '\0' }, [' unstorable_text']],
  ])('%s', (_name, design, expected) => {
    const result = checkDesignShape(design)
    const found = result.problems?.map(({ path, code }) => `${path} ${code}`)
    expect(found).toEqual(expected)
    expect(codesOf(design)).toEqual(expect.arrayContaining(expected))
  })
  test('the largest number of nodes and edges', () => {
    const design = { nodes: many(limits.designNodesMax), edges: many(limits.designEdgesMax) }
    expect(checkDesignShape(design)).toHaveProperty('design')
  })
})

test('designReferences names what must be loaded', () => {
  const design = looseDesign()
  const condition = {
    type: 'not',
    rules: [{ type: 'audience', audience_id: 'aud_1', member: true }],
  }
  design.nodes.push({ id: 'c', type: 'condition', data: { condition } })
  expect(designReferences(design)).toEqual({
    templateIds: ['welcome'],
    fromAddresses: ['Shop <shop@demo.test>'],
    teamAddresses: [],
    audienceIds: ['aud_1'],
    segmentIds: [],
    workflowIds: [],
  })
  expect(designReferences('x')).toEqual({
    templateIds: [],
    fromAddresses: [],
    teamAddresses: [],
    audienceIds: [],
    segmentIds: [],
    workflowIds: [],
  })
})

describe('takes any JSON', () => {
  const runAll = (design: unknown): void => {
    expect(Array.isArray(validateDesign(design, welcomeContext))).toBe(true)
    expect(designReferences(design)).toBeTypeOf('object')
    const shape = checkDesignShape(design)
    expect('design' in shape).toBe(!('problems' in shape))
  }
  test('any value', () => {
    fc.assert(fc.property(fc.jsonValue(), runAll), { numRuns: 100 })
    let deep: unknown = 1
    for (let i = 0; i < 50_000; i++) deep = { nodes: [deep], edges: [] }
    runAll(deep)
  })
  test('a valid design with any value at any place', () => {
    const places = (value: unknown, path: string[] = []): string[][] =>
      typeof value === 'object' && value !== null
        ? [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))]
        : [path]
    const all = places(welcomeDesign()).filter((path) => path.length > 0)
    const change = fc.tuple(fc.constantFrom(...all), fc.jsonValue())
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const design = looseDesign()
        for (const [path, value] of changes) {
          let at: unknown = design
          for (const key of path.slice(0, -1)) at = (at as Loose | undefined)?.[key]
          if (typeof at === 'object' && at !== null) (at as Loose)[path.at(-1) ?? ''] = value
        }
        runAll(design)
      }),
      { numRuns: 200 },
    )
  })
})

test.each([
  [0, ['settings.max_duration_ms bad_value']],
  [1, []],
])('a longest duration of %i ms', (max_duration_ms, expected) => {
  const design = { ...welcomeDesign(), settings: { ...welcomeDesign().settings, max_duration_ms } }
  const found = validateDesign(design, welcomeContext)
  expect(found.map(({ path, code }) => `${path} ${code}`)).toEqual(expected)
})
