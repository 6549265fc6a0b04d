// Faults in the data of each node type, each with exactly the expected problems.
import { expect, test } from 'vitest'
import { codesOf, designAround } from './builders.ts'
import { faults } from './faults.ts'

const rule = { type: 'rule', field: 'event.a', operator: 'exists' }

const mail = { subject: 'Hi', html: '<p>' }

faults(
  'send_email',
  ['default'],
  [
    ['no content', {}, ['subject subject_missing', 'html content_missing']],
    ['an empty subject', { ...mail, subject: '' }, ['subject subject_missing']],
    [
      'template and html',
      { template_id: 'welcome', html: 'x' },
      ['template_id template_with_content'],
    ],
    [
      'template and text',
      { template_id: 'welcome', text: 'x' },
      ['template_id template_with_content'],
    ],
    ['an unknown template', { template_id: 'nope' }, ['template_id unknown_template']],
    ['a draft template', { template_id: 'unfinished' }, ['template_id template_not_published']],
    [
      'a draft by alias, with subject',
      { template_id: 'unfinished', subject: 'S' },
      ['template_id template_not_published'],
    ],
    [
      'a template without subject',
      { template_id: 'untitled', from: 'a@demo.test' },
      ['subject subject_missing'],
    ],
    [
      'a template of a foreign sender',
      { template_id: 'untitled', subject: 'S' },
      ['template_id domain_not_verified'],
    ],
    ['a template by number', { template_id: 7 }, ['template_id bad_value']],
    ['html as number', { subject: 'S', html: 7 }, ['html bad_value']],
    ['a bad sender', { ...mail, from: 'a@b@c' }, ['from bad_address']],
    ['two senders', { ...mail, from: 'a@demo.test, b@demo.test' }, ['from bad_address']],
    ['a foreign sender', { ...mail, from: 'a@evil.test' }, ['from domain_not_verified']],
    [
      'a bad reply_to',
      { ...mail, reply_to: 'a@b.test\r\nBcc: x@y.test' },
      ['reply_to bad_address'],
    ],
    ['an unknown category', { ...mail, category: 'spam' }, ['category bad_value']],
    ['an unknown on_suppressed', { ...mail, on_suppressed: 'x' }, ['on_suppressed bad_value']],
    ['variables as list', { ...mail, variables: [] }, ['variables bad_value']],
    ['a bad guard', { ...mail, guard: {} }, ['guard empty_condition']],
  ],
)

faults(
  'delay',
  ['default'],
  [
    ['neither', {}, ['duration bad_duration']],
    ['both', { duration: 'P1D', ms: 5 }, ['duration bad_duration']],
    ['no duration', { duration: '3 days' }, ['duration bad_duration']],
    ['a hundred years and one', { duration: 'P101Y' }, ['duration bad_duration']],
    ['a negative delay', { ms: -1 }, ['ms bad_value']],
    ['ms as text', { ms: '1' }, ['ms bad_value']],
    ['half a jitter', { ms: 1, jitter_ms: 0.5 }, ['jitter_ms bad_value']],
  ],
)

const wait = { event_name: 'a' }
const equals = (equals_path: string) => ({ event_path: 'a', equals_path })

faults(
  'wait_for_event',
  ['received', 'timeout'],
  [
    ['no event', {}, ['event_name bad_event_name']],
    [
      'a bad filter',
      { ...wait, filter: { type: 'and', rules: [] } },
      ['filter.rules empty_condition'],
    ],
    ['match as object', { ...wait, match: {} }, ['match bad_value']],
    ['too many rows', { ...wait, match: Array(21).fill(equals('event.a')) }, ['match bad_value']],
    ['a row as number', { ...wait, match: [1] }, ['match.0 bad_value']],
    [
      'an empty row',
      { ...wait, match: [{}] },
      ['match.0.event_path unknown_field', 'match.0.equals_path unknown_field'],
    ],
    [
      'many values',
      { ...wait, match: [equals('event.x[]')] },
      ['match.0.equals_path unknown_field'],
    ],
    [
      'no such wait',
      { ...wait, match: [equals('wait_events.y.x')] },
      ['match.0.equals_path unknown_node'],
    ],
    ['a timeout in ms', { ...wait, timeout: 5 }, ['timeout bad_duration']],
    ['a negative lookback', { ...wait, lookback_ms: -5 }, ['lookback_ms bad_value']],
  ],
)

faults(
  'condition',
  ['true', 'false'],
  [
    ['none', {}, ['condition empty_condition']],
    [
      'ill typed',
      { condition: { ...rule, operator: 'gt', value: {} } },
      ['condition.value bad_value'],
    ],
    [
      'the fields of a wait',
      { condition: { ...rule, field: 'trigger.a' } },
      ['condition.field unknown_field'],
    ],
  ],
)

faults(
  'branch',
  ['a', 'else'],
  [
    [
      'a bad label',
      { branches: [{ id: 'a', label: 5, condition: rule }] },
      ['branches.0.label bad_value'],
    ],
    ['no condition', { branches: [{ id: 'a' }] }, ['branches.0.condition empty_condition']],
    [
      'an id twice',
      {
        branches: [
          { id: 'a', condition: rule },
          { id: 'a', condition: rule },
        ],
      },
      ['branches.1.id duplicate_id'],
    ],
    [
      'the id else',
      {
        branches: [
          { id: 'a', condition: rule },
          { id: 'else', condition: rule },
        ],
      },
      ['branches.1.id duplicate_id'],
    ],
    [
      'a branch as number',
      { branches: [{ id: 'a', condition: rule }, 1] },
      ['branches.1 bad_value'],
    ],
  ],
)

faults(
  'branch',
  ['else'],
  [
    ['none', { branches: [] }, ['branches missing_value']],
    ['an object', { branches: {} }, ['branches missing_value']],
  ],
)

test('a branch id is an id, and a node has 50 branches at most', () => {
  const odd = designAround('branch', { branches: [{ id: 'a b', condition: rule }] }, 'a b', 'else')
  expect(codesOf(odd)).toEqual(['nodes.1.data.branches.0.id bad_id'])
  const ids = Array.from({ length: 51 }, (_, i) => `b${i}`)
  const branches = ids.map((id) => ({ id, condition: rule }))
  const many = designAround('branch', { branches }, ...ids, 'else')
  expect(codesOf(many)).toEqual(['nodes.1.data.branches too_many'])
})

const variables = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, { var: 'event.a' }]))

faults(
  'update_contact',
  ['default'],
  [
    ['nothing', {}, [' missing_value']],
    ['set as list', { set: [] }, ['set bad_value']],
    ['unset as text', { unset: 'a' }, ['unset bad_value']],
    ['unset of no path', { unset: ['a..b'] }, ['unset bad_value']],
    ['increment by text', { increment: { n: '1' } }, ['increment bad_value']],
    ['increment of no path', { increment: { 'n[]': 1 } }, ['increment bad_value']],
    ['an unknown variable', { set: { a: [{ var: 'user.x' }] } }, ['set.a.0 unknown_field']],
    ['many values', { set: { a: { var: 'event.a[]' } } }, ['set.a unknown_field']],
    ['no such wait', { set: { b: { c: { var: 'wait_events.y.x' } } } }, ['set.b.c unknown_node']],
    ['too many variables', { set: variables(201) }, ['set too_many']],
    ['as many as allowed', { set: variables(200) }, []],
  ],
)

test('unknown types, and an exit', () => {
  for (const type of ['teleport', 'constructor', 'lottery']) {
    expect(codesOf(designAround(type, {}, 'default'))).toEqual(['nodes.1.type unknown_node_type'])
  }
  const exits = {
    nodes: [
      { id: 't', type: 'trigger', data: { kind: 'manual' } },
      { id: 'x', type: 'exit', data: { outcome: [] } },
    ],
    edges: [{ id: 'e', source: 't', target: 'x' }],
  }
  expect(codesOf(exits)).toEqual(['nodes.1.data.outcome bad_value'])
})

test('a sender comes from the node, the settings or the template', () => {
  const bare = (data: object) => ({ ...designAround('send_email', data, 'default'), settings: {} })
  expect(codesOf(bare(mail))).toEqual(['nodes.1.data.from from_missing'])
  expect(codesOf(bare({ ...mail, from: 'a@demo.test' }))).toEqual([])
  expect(codesOf(bare({ template_id: 'welcome' }))).toEqual(['nodes.1.data.from from_missing'])
  expect(codesOf(bare({ template_id: 'untitled', subject: 'S' }))).toEqual([
    'nodes.1.data.template_id domain_not_verified',
  ])
})
