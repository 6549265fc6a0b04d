// Designs: what may be saved as a draft, and each fault that keeps one from being activated.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limits } from '../../domain/limits.ts'
import { checkDesignShape, designReferences, validateDesign } from '../../domain/validateDesign.ts'
import { edgesOf, welcomeContext, welcomeDesign } from './domainBuilders.ts'

type Loose = { [key: string]: unknown }
interface LooseDesign extends Loose {
  nodes: Loose[]
  edges: Loose[]
}

const loose = (): LooseDesign => JSON.parse(JSON.stringify(welcomeDesign()))

function codes(design: unknown, context = welcomeContext): string[] {
  return validateDesign(design, context).map(({ path, code }) => `${path} ${code}`)
}

/** trigger → the node → exit, with every handle of the node wired to the exit. */
function around(type: string, data: unknown, ...handles: string[]): Loose {
  return {
    nodes: [
      { id: 't', type: 'trigger', data: { kind: 'manual' } },
      { id: 'n', type, data },
      { id: 'x', type: 'exit', data: {} },
    ],
    edges: edgesOf('t>n', ...handles.map((handle) => `n.${handle}>x`)),
    settings: { default_from: 'a@demo.test' },
  }
}

const rule = { type: 'rule', field: 'event.a', operator: 'exists' }
const inline = { subject: 'Hi', html: '<p>' }

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
    expect(codes(design)).toEqual(expect.arrayContaining(expected))
  })
  test('as many nodes and edges as allowed', () => {
    const design = { nodes: many(limits.designNodesMax), edges: many(limits.designEdgesMax) }
    expect(checkDesignShape(design)).toHaveProperty('design')
  })
})

describe('valid designs', () => {
  test('the welcome series', () => {
    expect(validateDesign(welcomeDesign(), welcomeContext)).toEqual([])
  })
  test.each<[string, Loose]>([
    ['optional handles unwired', around('send_email', inline, 'default')],
    ['optional handles wired', around('send_email', inline, 'default', 'skipped', 'failed')],
    [
      'a template that has its subject here',
      around('send_email', { template_id: 'untitled', subject: 'S' }, 'default'),
    ],
    ['text alone', around('send_email', { subject: 'S', text: 'T', html: '' }, 'default')],
    ['a delay in ms', around('delay', { ms: 1000, jitter_ms: 5 }, 'default')],
    ['a wait for ever', around('wait_for_event', { event_name: 'email.opened' }, 'received')],
    [
      'a wait with all',
      around(
        'wait_for_event',
        {
          event_name: 'a',
          filter: { ...rule, field: 'trigger.x' },
          match: [{ event_path: 'a.b', equals_path: 'contact.email' }],
          timeout: 'PT1H',
          lookback_ms: 10,
        },
        'received',
        'timeout',
      ),
    ],
    ['condition', around('condition', { condition: rule }, 'true', 'false')],
    ['branch', around('branch', { branches: [{ id: 'a', condition: rule }] }, 'a', 'else')],
    [
      'update',
      around(
        'update_contact',
        { set: { a: { var: 'event.a' }, var: 'plain' }, unset: ['b.c'], increment: { n: -1 } },
        'default',
      ),
    ],
    [
      'an exit in the middle',
      {
        ...around('exit', { outcome: 'done' }),
        nodes: [
          { id: 't', type: 'trigger', data: { kind: 'manual' } },
          { id: 'n', type: 'exit', data: {} },
        ],
      },
    ],
    ['unknown keys in data', around('delay', { duration: 'P1D', label: 'One day' }, 'default')],
    [
      'settings',
      {
        ...around('delay', { duration: 'P1D' }, 'default'),
        settings: { on_unsubscribe: 'skip_sends', on_step_failure: 'continue' },
      },
    ],
  ])('%s', (_name, design) => {
    expect(codes(design)).toEqual([])
  })
  test('a note is drawn, never reached', () => {
    const design = loose()
    design.nodes.push({ id: 'memo', type: 'note', data: { text: 'hello' } })
    expect(codes(design)).toEqual([])
  })
  test('a null handle is the default one', () => {
    const design = loose()
    for (const edge of design.edges) edge['sourceHandle'] ??= null
    expect(codes(design)).toEqual([])
  })
})

describe('faults of nodes', () => {
  const at = 'nodes.1.data'
  test.each<[string, Loose, string[]]>([
    ['an unknown type', around('teleport', {}), ['nodes.1.type unknown_node_type']],
    ['an inherited type', around('constructor', {}), ['nodes.1.type unknown_node_type']],
    ['a type of later', around('split', { variants: [] }), ['nodes.1.type unknown_node_type']],
    [
      'no content',
      around('send_email', {}, 'default'),
      [`${at}.subject subject_missing`, `${at}.html content_missing`],
    ],
    [
      'an empty subject',
      around('send_email', { ...inline, subject: '' }, 'default'),
      [`${at}.subject subject_missing`],
    ],
    [
      'template and html',
      around('send_email', { template_id: 'welcome', html: 'x' }, 'default'),
      [`${at}.template_id template_with_content`],
    ],
    [
      'an unknown template',
      around('send_email', { template_id: 'nope' }, 'default'),
      [`${at}.template_id unknown_template`],
    ],
    [
      'a draft template',
      around('send_email', { template_id: 'unfinished' }, 'default'),
      [`${at}.template_id template_not_published`],
    ],
    [
      'a template without subject',
      around('send_email', { template_id: 'untitled' }, 'default'),
      [`${at}.subject subject_missing`],
    ],
    [
      'a template by number',
      around('send_email', { template_id: 7 }, 'default'),
      [`${at}.template_id bad_value`],
    ],
    [
      'html as number',
      around('send_email', { subject: 'S', html: 7 }, 'default'),
      [`${at}.html bad_value`],
    ],
    [
      'a bad sender',
      around('send_email', { ...inline, from: 'a@b@c' }, 'default'),
      [`${at}.from bad_address`],
    ],
    [
      'a foreign sender',
      around('send_email', { ...inline, from: 'a@evil.test' }, 'default'),
      [`${at}.from domain_not_verified`],
    ],
    [
      'no sender',
      { ...around('send_email', inline, 'default'), settings: {} },
      [`${at}.from from_missing`],
    ],
    [
      'a foreign template sender',
      {
        ...around('send_email', { template_id: 'untitled', subject: 'S' }, 'default'),
        settings: {},
      },
      [`${at}.template_id domain_not_verified`],
    ],
    [
      'a bad reply_to',
      around('send_email', { ...inline, reply_to: 'a@b.test\r\nBcc: x@y.test' }, 'default'),
      [`${at}.reply_to bad_address`],
    ],
    [
      'an unknown category',
      around('send_email', { ...inline, category: 'spam' }, 'default'),
      [`${at}.category bad_value`],
    ],
    [
      'an unknown on_suppressed',
      around('send_email', { ...inline, on_suppressed: 'x' }, 'default'),
      [`${at}.on_suppressed bad_value`],
    ],
    [
      'variables as list',
      around('send_email', { ...inline, variables: [] }, 'default'),
      [`${at}.variables bad_value`],
    ],
    [
      'a bad guard',
      around('send_email', { ...inline, guard: {} }, 'default'),
      [`${at}.guard empty_condition`],
    ],
    ['no delay', around('delay', {}, 'default'), [`${at}.duration bad_duration`]],
    [
      'two delays',
      around('delay', { duration: 'P1D', ms: 5 }, 'default'),
      [`${at}.duration bad_duration`],
    ],
    [
      'no duration',
      around('delay', { duration: '3 days' }, 'default'),
      [`${at}.duration bad_duration`],
    ],
    [
      'a hundred years and one',
      around('delay', { duration: 'P101Y' }, 'default'),
      [`${at}.duration bad_duration`],
    ],
    ['a negative delay', around('delay', { ms: -1 }, 'default'), [`${at}.ms bad_value`]],
    [
      'half a jitter',
      around('delay', { ms: 1, jitter_ms: 0.5 }, 'default'),
      [`${at}.jitter_ms bad_value`],
    ],
    ['no event', around('wait_for_event', {}, 'received'), [`${at}.event_name bad_event_name`]],
    [
      'match as object',
      around('wait_for_event', { event_name: 'a', match: {} }, 'received'),
      [`${at}.match bad_value`],
    ],
    [
      'bad match rows',
      around(
        'wait_for_event',
        {
          event_name: 'a',
          match: [
            1,
            {},
            { event_path: 'a', equals_path: 'event.items[].x' },
            { event_path: 'a', equals_path: 'wait_events.gone.x' },
          ],
        },
        'received',
      ),
      [
        `${at}.match.0 bad_value`,
        `${at}.match.1.event_path unknown_field`,
        `${at}.match.1.equals_path unknown_field`,
        `${at}.match.2.equals_path unknown_field`,
        `${at}.match.3.equals_path unknown_node`,
      ],
    ],
    [
      'a bad timeout',
      around('wait_for_event', { event_name: 'a', timeout: 5 }, 'received', 'timeout'),
      [`${at}.timeout bad_duration`],
    ],
    [
      'a bad condition',
      around('condition', { condition: { ...rule, operator: 'gt', value: {} } }, 'true', 'false'),
      [`${at}.condition.value bad_value`],
    ],
    ['no condition', around('condition', {}, 'true', 'false'), [`${at}.condition empty_condition`]],
    ['no branches', around('branch', { branches: [] }, 'else'), [`${at}.branches missing_value`]],
    [
      'too many branches',
      around(
        'branch',
        { branches: Array.from({ length: 51 }, (_, i) => ({ id: `b${i}`, condition: rule })) },
        'else',
        ...Array.from({ length: 51 }, (_, i) => `b${i}`),
      ),
      [`${at}.branches too_many`],
    ],
    [
      'bad branches',
      around(
        'branch',
        {
          branches: [
            1,
            { id: 'a b', condition: rule },
            { id: 'else', condition: rule },
            { id: 'a', label: 5, condition: null },
            { id: 'a', condition: rule },
          ],
        },
        'a',
        'else',
        'a b',
      ),
      [
        `${at}.branches.0 bad_value`,
        `${at}.branches.1.id bad_id`,
        `${at}.branches.2.id duplicate_id`,
        `${at}.branches.3.condition empty_condition`,
        `${at}.branches.3.label bad_value`,
        `${at}.branches.4.id duplicate_id`,
      ],
    ],
    ['no update', around('update_contact', {}, 'default'), [`${at} missing_value`]],
    [
      'bad updates',
      around('update_contact', { set: [], unset: ['a..b'], increment: { n: '1' } }, 'default'),
      [`${at}.set bad_value`, `${at}.unset bad_value`, `${at}.increment bad_value`],
    ],
    [
      'bad variables',
      around(
        'update_contact',
        {
          set: {
            a: [{ var: 'user.x' }],
            b: { c: { var: 'wait_events.gone.x' } },
            d: { var: 'event.a[]' },
          },
        },
        'default',
      ),
      [`${at}.set.a.0 unknown_field`, `${at}.set.b.c unknown_node`, `${at}.set.d unknown_field`],
    ],
    [
      'too many variables',
      around(
        'update_contact',
        {
          set: Object.fromEntries(
            Array.from({ length: 201 }, (_, i) => [`k${i}`, { var: 'event.a' }]),
          ),
        },
        'default',
      ),
      [`${at}.set too_many`],
    ],
    ['an outcome as list', around('exit', { outcome: [] }), [`${at}.outcome bad_value`]],
  ])('%s', (_name, design, expected) => {
    // The shared exit cannot be reached from a node without handles.
    const found = codes(design).filter((code) => code !== 'nodes.2 unreachable_node')
    expect(found).toEqual(expected)
  })

  test.each<[string, unknown, string]>([
    ['no kind', {}, 'nodes.0.data.kind unsupported_trigger_kind'],
    ['a kind of later', { kind: 'schedule' }, 'nodes.0.data.kind unsupported_trigger_kind'],
    ['no event name', { kind: 'event' }, 'nodes.0.data.event_name bad_event_name'],
    [
      'a bad filter',
      { kind: 'event', event_name: 'a', filter: { ...rule, field: 'trigger.x' } },
      'nodes.0.data.filter.field unknown_field',
    ],
    [
      'a re-entry that is not kept',
      { kind: 'event', event_name: 'a', re_entry: { mode: 'once' } },
      'nodes.0.data.re_entry unsupported_re_entry',
    ],
  ])('a trigger with %s', (_name, data, expected) => {
    const design = loose()
    design.nodes[0] = { id: 'start', type: 'trigger', data }
    expect(codes(design)).toEqual([expected])
  })
  test('a trigger may listen to a reserved name, and enter again each time', () => {
    const design = loose()
    const data = {
      kind: 'event',
      event_name: 'email.clicked',
      filter: rule,
      re_entry: { mode: 'every' },
    }
    design.nodes[0] = { id: 'start', type: 'trigger', data }
    expect(codes(design)).toEqual([])
  })

  test.each<[string, Loose, string]>([
    ['an unknown key', { frequency_cap: {} }, 'settings.frequency_cap unknown_setting'],
    ['a bad on_unsubscribe', { on_unsubscribe: 'x' }, 'settings.on_unsubscribe bad_value'],
    ['a bad on_step_failure', { on_step_failure: 1 }, 'settings.on_step_failure bad_value'],
    ['a bad sender', { default_from: 'x' }, 'settings.default_from bad_address'],
    [
      'a foreign sender',
      { default_from: 'X <a@evil.test>' },
      'settings.default_from domain_not_verified',
    ],
  ])('settings with %s', (_name, settings, expected) => {
    const design = loose()
    design['settings'] = { default_from: 'a@demo.test', ...settings }
    expect(codes(design)).toEqual([expected])
  })

  test('inline Liquid is parsed where the caller can', () => {
    const design = around('send_email', { ...inline, subject: '{{' }, 'default')
    const context = {
      ...welcomeContext,
      liquidProblem: (text: string) => (text === '{{' ? 'not closed' : null),
    }
    expect(codes(design, context)).toEqual([`${at}.subject bad_template_text`])
  })
  test('an audience must exist', () => {
    const condition = { type: 'audience', audience_id: 'aud_2', member: true }
    const design = around('condition', { condition }, 'true', 'false')
    expect(codes(design)).toEqual([`${at}.condition.audience_id unknown_audience`])
  })
})

describe('faults of the graph', () => {
  const change = (apply: (design: LooseDesign) => void): string[] => {
    const design = loose()
    apply(design)
    return codes(design)
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
  test('nothing at all', () => {
    expect(codes({ nodes: [], edges: [] })).toEqual(['nodes no_trigger'])
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
    const design = around('delay', data)
    design['edges'] = edgesOf('t>n', 'n>n')
    const found = codes(design).filter((code) => code !== 'nodes.2 unreachable_node')
    expect(found).toEqual(isValid ? [] : ['nodes.1 loop_without_wait'])
  })
  test.each<[string, Loose, boolean]>([
    ['a wait', {}, true],
    ['a wait that looks back', { lookback_ms: 1000 }, false],
    ['a wait of no time', { timeout: 'PT0S' }, false],
  ])('a loop through %s', (_name, data, isValid) => {
    const design = around('wait_for_event', { event_name: 'a', ...data })
    const timeout = data['timeout'] ? ['n.timeout>x'] : []
    design['edges'] = edgesOf('t>n', 'n.received>n', ...timeout)
    const found = codes(design).filter((code) => code !== 'nodes.2 unreachable_node')
    expect(found).toEqual(isValid ? [] : ['nodes.1 loop_without_wait'])
  })
  test('all problems at once, each with its node', () => {
    const design = loose()
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

test('designReferences names what must be loaded', () => {
  const design = loose()
  const condition = {
    type: 'not',
    rules: [{ type: 'audience', audience_id: 'aud_1', member: true }],
  }
  design.nodes.push({ id: 'c', type: 'condition', data: { condition } })
  expect(designReferences(design)).toEqual({
    templateIds: ['welcome'],
    fromAddresses: ['Shop <shop@demo.test>'],
    audienceIds: ['aud_1'],
  })
  expect(designReferences('x')).toEqual({ templateIds: [], fromAddresses: [], audienceIds: [] })
})

describe('takes any JSON', () => {
  const runAll = (design: unknown): void => {
    expect(Array.isArray(validateDesign(design, welcomeContext))).toBe(true)
    expect(designReferences(design)).toBeTypeOf('object')
    const shape = checkDesignShape(design)
    expect('design' in shape).toBe(!('problems' in shape))
  }
  test('whatever it is', () => {
    fc.assert(fc.property(fc.jsonValue(), runAll), { numRuns: 200 })
    let deep: unknown = 1
    for (let i = 0; i < 50_000; i++) deep = { nodes: [deep], edges: [] }
    runAll(deep)
  })
  test('a valid design with any value put anywhere', () => {
    const places = (value: unknown, path: string[] = []): string[][] =>
      typeof value === 'object' && value !== null
        ? [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))]
        : [path]
    const all = places(welcomeDesign()).filter((path) => path.length > 0)
    const change = fc.tuple(fc.constantFrom(...all), fc.jsonValue())
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const design = loose()
        for (const [path, value] of changes) {
          let at: unknown = design
          for (const key of path.slice(0, -1)) at = (at as Loose | undefined)?.[key]
          if (typeof at === 'object' && at !== null) (at as Loose)[path.at(-1) ?? ''] = value
        }
        runAll(design)
      }),
      { numRuns: 500 },
    )
  })
})
