// The graph of a design: edges, reachable nodes, and waits in loops.
import { describe, expect, test } from 'vitest'
import { validateDesign } from '../../../rules/design/validate.ts'
import {
  codesOf,
  designAround,
  edgesOf,
  type LooseDesign,
  looseDesign,
  welcomeContext,
} from './builders.ts'

type Loose = { [key: string]: unknown }

describe('faults of the graph', () => {
  const change = (apply: (design: LooseDesign) => void): string[] => {
    const design = looseDesign()
    apply(design)
    return codesOf(design)
  }
  const without =
    (source: string, handle?: string) =>
    (design: LooseDesign): void => {
      design.edges = design.edges.filter(
        (edge) => edge['source'] !== source || edge['sourceHandle'] !== handle,
      )
    }
  const plus =
    (text: string) =>
    (design: LooseDesign): void => {
      design.edges.push(...edgesOf(text).map((edge) => ({ ...edge, id: 'added' })))
    }
  test('an empty design', () => {
    expect(codesOf({ nodes: [], edges: [] })).toEqual(['nodes no_trigger'])
  })
  test.each<[string, (design: LooseDesign) => void, string[]]>([
    ['default unwired', without('nudge'), ['nodes.7 unwired_handle']],
    [
      'received unwired',
      without('bought', 'received'),
      [
        'nodes.3 unwired_handle',
        'nodes.4 unreachable_node',
        'nodes.5 unreachable_node',
        'nodes.8 unreachable_node',
      ],
    ],
    [
      'timeout unwired',
      without('bought', 'timeout'),
      ['nodes.3 unwired_handle', 'nodes.6 unreachable_node', 'nodes.7 unreachable_node'],
    ],
    ['false unwired', without('isnew', 'false'), ['nodes.6 unwired_handle']],
    [
      'a branch unwired',
      without('plan', 'gold'),
      ['nodes.5 unwired_handle', 'nodes.8 unreachable_node'],
    ],
    ['else unwired', without('plan', 'else'), ['nodes.5 unwired_handle']],
    ['an unknown handle', plus('plan.silver>won'), ['edges.11.sourceHandle unknown_handle']],
    ['default of a condition', plus('isnew>won'), ['edges.11.sourceHandle unknown_handle']],
    ['an edge out of an exit', plus('won>lost'), ['edges.11.sourceHandle unknown_handle']],
    ['two edges of one handle', plus('hello>won'), ['edges.11.sourceHandle duplicate_edge']],
    ['an edge to nowhere', plus('hello.failed>gone'), ['edges.11.target unknown_node']],
    ['an edge from nowhere', plus('gone>won'), ['edges.11.source unknown_node']],
    [
      'an edge into a trigger',
      plus('hello.failed>start'),
      ['edges.11.target edge_into_trigger', 'nodes.0 loop_without_wait'],
    ],
    ['a loop without a wait', plus('hello.failed>hello'), ['nodes.1 loop_without_wait']],
    [
      'a node apart',
      (design) => design.nodes.push({ id: 'apart', type: 'exit', data: {} }),
      ['nodes.10 unreachable_node'],
    ],
    [
      'an edge into a note',
      (design) => {
        design.nodes.push({ id: 'memo', type: 'note', data: {} })
        plus('hello.failed>memo')(design)
      },
      ['edges.11.target edge_into_note'],
    ],
    [
      'an edge out of a note',
      (design) => {
        design.nodes.push({ id: 'memo', type: 'note', data: {} })
        plus('memo>won')(design)
      },
      ['edges.11.sourceHandle unknown_handle'],
    ],
    [
      'no trigger',
      (design) => {
        design.nodes[0] = { id: 'start', type: 'update_contact', data: { unset: ['a'] } }
      },
      ['nodes no_trigger'],
    ],
  ])('%s', (_name, apply, expected) => {
    expect(change(apply)).toEqual(expected)
  })

  test.each<[string, unknown, boolean]>([
    ['a real delay', { duration: 'PT1S' }, true],
    ['a delay of months', { duration: 'P1M' }, true],
    ['a delay of no time', { duration: 'PT0S' }, false],
    ['a delay of 0 ms', { ms: 0 }, false],
  ])('a loop through %s', (_name, data, isValid) => {
    const design = designAround('delay', data)
    design['edges'] = edgesOf('t>n', 'n>n')
    const found = codesOf(design).filter((code) => code !== 'nodes.2 unreachable_node')
    expect(found).toEqual(isValid ? [] : ['nodes.1 loop_without_wait'])
  })
  test.each<[string, Loose, boolean]>([
    ['a wait', {}, true],
    ['a wait that looks back', { lookback_ms: 1000 }, false],
    ['a wait that looks back by no time', { lookback_ms: 0 }, true],
    ['a wait of no time', { timeout: 'PT0S' }, false],
  ])('a loop through %s', (_name, data, isValid) => {
    const design = designAround('wait_for_event', { event_name: 'a', ...data })
    const timeout = data['timeout'] ? ['n.timeout>x'] : []
    design['edges'] = edgesOf('t>n', 'n.received>n', ...timeout)
    const found = codesOf(design).filter((code) => code !== 'nodes.2 unreachable_node')
    expect(found).toEqual(isValid ? [] : ['nodes.1 loop_without_wait'])
  })
  test('all problems at once, each with its node', () => {
    const design = looseDesign()
    design.nodes[2] = { id: 'pause', type: 'delay', data: { duration: 'x' } }
    design.nodes[9] = { id: 'lost', type: 'nonsense', data: {} }
    design.nodes.push({ id: 7 })
    const found = validateDesign(design, { ...welcomeContext, verifiedDomains: new Set() })
    expect(found.map(({ node_id, code }) => [node_id, code])).toEqual([
      [null, 'bad_node'],
      [null, 'bad_node'],
      [null, 'bad_id'],
      [null, 'domain_not_verified'],
      ['pause', 'bad_duration'],
      ['nudge', 'domain_not_verified'],
      ['lost', 'unknown_node_type'],
    ])
    for (const problem of found) expect(problem.message).not.toBe('')
  })
})
