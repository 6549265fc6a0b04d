// Every problem that a design can have, by its code: where it is, and a message with the field, what came, what is allowed.
// Long because it is one table with a row for each code.
import { expect, test } from 'vitest'
import { type ProblemCode, problemCodeNames } from '../../../rules/design/problemCodes.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { limits } from '../../../rules/limits.ts'
import { designAround, edgesOf, looseDesign, welcomeContext } from './builders.ts'

type Row = [design: unknown, path: string, message: string]

const mail = (data: object) =>
  designAround('send_email', { subject: 'Hi', html: '<p>Hi</p>', ...data }, 'default')
const asked = (condition: unknown) => designAround('condition', { condition }, 'true', 'false')
const rule = (given: object) =>
  asked({ type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro', ...given })
const nested = (levels: number): unknown =>
  levels === 1
    ? { type: 'rule', field: 'event.a', operator: 'exists' }
    : { type: 'not', rules: [nested(levels - 1)] }
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })

/** The welcome series with some of its keys replaced. */
const withKeys = (change: object) => ({ ...looseDesign(), ...change })
/** trigger `t` → exit `x`, with nodes and edges beside them. */
const beside = (nodes: object[], edges: object[]) => ({
  nodes: [
    { id: 't', type: 'trigger', data: { kind: 'manual' } },
    { id: 'x', type: 'exit', data: {} },
    ...nodes,
  ],
  edges: [...edgesOf('t>x'), ...edges],
})
const edge = (change: object) => ({ id: 'more', source: 't', target: 'x', ...change })

const rows: Record<ProblemCode, Row> = {
  bad_address: [
    mail({ reply_to: 'ada at example' }),
    'nodes.1.data.reply_to',
    'reply_to must be one address such as hello@acme.com, or Acme <hello@acme.com>, not "ada at example"',
  ],
  bad_design: [[1], '', 'design must be an object with nodes and edges, not an array'],
  bad_duration: [
    designAround('delay', { duration: '3 days' }, 'default'),
    'nodes.1.data.duration',
    'duration must be an ISO 8601 duration such as PT30M, P3D or P1M, not "3 days"',
  ],
  bad_edge: [
    beside([], [edge({ target: 7 })]),
    'edges.1.target',
    'target must be the id of a node, not 7',
  ],
  bad_event_name: [
    designAround('wait_for_event', { event_name: 'order paid' }, 'received'),
    'nodes.1.data.event_name',
    'event_name must be 1-128 letters, digits or . _ - : /, such as order.placed, not "order paid"',
  ],
  bad_id: [
    beside([{ id: 'a b', type: 'note', data: {} }], []),
    'nodes.2.id',
    'id must be 1-64 of A-Z a-z 0-9 _ -, not "a b"',
  ],
  bad_node: [
    beside([{ id: 'n', type: 'note' }], []),
    'nodes.2.data',
    'data must be an object, not nothing',
  ],
  bad_settings: [
    withKeys({ settings: 'none' }),
    'settings',
    'settings must be an object, not a string',
  ],
  bad_template_text: [
    mail({ html: '{% if' }),
    'nodes.1.data.html',
    'html: tag not closed (line 1, column 1)',
  ],
  bad_value: [
    mail({ category: 'Marketting' }),
    'nodes.1.data.category',
    'category must be one of marketing, transactional, not "Marketting"; did you mean marketing?',
  ],
  condition_too_deep: [
    asked(nested(limits.conditionDepthMax + 1)),
    `nodes.1.data.condition${'.rules.0'.repeat(limits.conditionDepthMax)}`,
    'conditions must not nest deeper than 20 levels',
  ],
  condition_too_large: [
    asked({ type: 'and', rules: Array(limits.conditionRulesMax).fill(nested(1)) }),
    'nodes.1.data.condition.rules.199',
    'a condition must not hold more than 200 rules in all',
  ],
  content_missing: [
    mail({ html: '' }),
    'nodes.1.data.html',
    'html or text is required without a template_id',
  ],
  domain_not_verified: [
    mail({ from: 'Ada <ada@elsewhere.test>' }),
    'nodes.1.data.from',
    'from: the domain elsewhere.test is not a verified domain of this workspace',
  ],
  duplicate_edge: [
    beside([], [edge({})]),
    'edges.1.sourceHandle',
    'sourceHandle: another edge leaves t by "default" already',
  ],
  duplicate_id: [
    designAround('branch', { branches: [{ id: 'else', condition: nested(1) }] }, 'else'),
    'nodes.1.data.branches.0.id',
    'id: "else" is the way when no branch holds',
  ],
  edge_into_note: [
    beside([{ id: 'n', type: 'note', data: {} }], [edge({ target: 'n' })]),
    'edges.1.target',
    'target: n is a note, which never runs',
  ],
  edge_into_trigger: [
    beside([], [edge({ target: 't' })]),
    'edges.1.target',
    'target: t is a trigger, to which no edge may lead',
  ],
  empty_condition: [
    asked({}),
    'nodes.1.data.condition',
    'a condition with a type is required, not an empty object',
  ],
  from_missing: [
    { ...mail({}), settings: {} },
    'nodes.1.data.from',
    'from is required where neither the template nor settings.default_from names a sender',
  ],
  loop_without_wait: [
    {
      ...designAround('update_contact', { unset: ['a'] }),
      edges: edgesOf('t>n', 'n.default>n'),
    },
    'nodes.1',
    'a loop of edges leads back to this node without a delay or a wait in it',
  ],
  missing_value: [
    designAround('update_contact', {}, 'default'),
    'nodes.1.data',
    'at least one of set, unset and increment is required',
  ],
  no_trigger: [
    { nodes: [{ id: 'x', type: 'exit', data: {} }], edges: [] },
    'nodes',
    'nodes must hold at least one node of type trigger',
  ],
  not_json: [
    withKeys({ made: () => 1 }),
    '',
    'design must be JSON, and holds a value of type function',
  ],
  schedule_in_past: [
    {
      nodes: [
        {
          id: 't',
          type: 'trigger',
          data: { kind: 'schedule', at: '2026-03-01T09:00', audience_id: 'aud_1' },
        },
      ],
      edges: [],
    },
    'nodes.0.data.at',
    'at must be ahead, not "2026-03-01T09:00", which is over',
  ],
  subject_missing: [
    mail({ subject: null }),
    'nodes.1.data.subject',
    'subject is required without a template_id',
  ],
  template_not_published: [
    designAround('send_email', { template_id: 'unfinished' }, 'default'),
    'nodes.1.data.template_id',
    "template_id: the template 'unfinished' is a draft; publish it first",
  ],
  template_with_content: [
    mail({ template_id: 'welcome' }),
    'nodes.1.data.template_id',
    'template_id cannot be used together with html or text',
  ],
  too_deep: [
    withKeys({ more: deep(limits.jsonDepthMax) }),
    '',
    'design must not be nested deeper than 64 levels',
  ],
  too_large: [
    withKeys({ more: 'x'.repeat(limits.designBytesMax) }),
    '',
    'design must not exceed 262144 bytes of JSON',
  ],
  too_many: [
    withKeys({ nodes: Array(limits.designNodesMax + 1).fill({}) }),
    'nodes',
    'nodes must not exceed 300 items, has 301',
  ],
  unknown_audience: [
    asked({ type: 'audience', audience_id: 'aud_2', member: true }),
    'nodes.1.data.condition.audience_id',
    'audience_id: this workspace has no audience "aud_2"',
  ],
  unknown_condition_type: [
    asked({ type: 'rul' }),
    'nodes.1.data.condition.type',
    'type must be one of and, or, not, rule, event_count, email_activity, audience, segment, not "rul"; did you mean rule?',
  ],
  unknown_field: [
    rule({ field: 'plan' }),
    'nodes.1.data.condition.field',
    'field must be contact.email, contact.first_seen, properties.<name>, event.<name>, ' +
      'wait_events.<node id>.<name>, ' +
      'steps.<store_as>.<name> or execution.step_count, not "plan"',
  ],
  unknown_handle: [
    {
      ...asked(nested(1)),
      edges: edgesOf('t>n', 'n.true>x', 'n.flase>x', 'n.false>x'),
    },
    'edges.2.sourceHandle',
    'sourceHandle: the condition node has no handle "flase", it has true, false',
  ],
  unknown_node: [
    beside([], [edge({ source: 'X', target: 'x' })]),
    'edges.1.source',
    'source: no node has the id "X"; did you mean x?',
  ],
  unknown_node_type: [
    designAround('sendEmail', {}),
    'nodes.1.type',
    'type must be one of trigger, send_email, delay, wait_until, wait_for_event, wait_for_condition, time_window, condition, ' +
      'branch, split, filter, update_contact, add_to_audience, remove_from_audience, unsubscribe, send_event, ' +
      'start_workflow, cancel_workflow, http_request, goal, exit, note, not "sendEmail"; did you mean send_email?',
  ],
  unknown_operator: [
    asked({ type: 'event_count', event_name: 'a', operator: '>', value: 1 }),
    'nodes.1.data.condition.operator',
    'operator must be one of eq, neq, gt, gte, lt, lte, not ">"',
  ],
  unknown_secret: [
    designAround(
      'http_request',
      { method: 'GET', url: 'https://a.test/{{ secrets.KEE }}' },
      'success',
      'error',
    ),
    'nodes.1.data',
    'this workspace has no secret "KEE"',
  ],
  unknown_segment: [
    asked({ type: 'segment', segment_id: 'seg_2', member: true }),
    'nodes.1.data.condition.segment_id',
    'segment_id: this workspace has no segment "seg_2"',
  ],
  unknown_setting: [
    withKeys({ settings: { on_unsubscibe: 'cancel' } }),
    'settings.on_unsubscibe',
    'there is no setting "on_unsubscibe": there are on_unsubscribe, on_step_failure, on_pause, ' +
      'default_from, exit_conditions, max_duration_ms, frequency_cap, timezone; did you mean on_unsubscribe?',
  ],
  unknown_template: [
    designAround('send_email', { template_id: 'wellcome' }, 'default'),
    'nodes.1.data.template_id',
    "template_id: this workspace has no template 'wellcome'",
  ],
  unknown_workflow: [
    designAround('cancel_workflow', { workflow_id: 'wf_9' }, 'default'),
    'nodes.1.data.workflow_id',
    'workflow_id: this workspace has no workflow "wf_9"',
  ],
  unreachable_node: [
    beside([{ id: 'lone', type: 'exit', data: {} }], []),
    'nodes.2',
    'no path of edges leads from a trigger to this node',
  ],
  unstorable_number: [
    withKeys({ more: Number.POSITIVE_INFINITY }),
    '',
    'design must not hold a number that is too large',
  ],
  unstorable_text: [
    withKeys({ more: 'a\0' }),
    '',
    'design must not hold a NUL character or half of a surrogate pair',
  ],
  unsupported_trigger_kind: [
    { nodes: [{ id: 't', type: 'trigger', data: { kind: 'cron' } }], edges: [] },
    'nodes.0.data.kind',
    'kind must be one of event, manual, audience_joined, audience_left, contact_created, property_changed, email_event, ' +
      'segment_entered, segment_left, schedule, not "cron"',
  ],
  unwired_handle: [
    { ...asked(nested(1)), edges: edgesOf('t>n', 'n.true>x') },
    'nodes.1',
    'no edge leaves by the handle "false", which must lead somewhere',
  ],
}

const context = {
  ...welcomeContext,
  secrets: new Set(['KEY']),
  now: Date.UTC(2026, 2, 1, 9),
  liquidProblem: (source: string) =>
    source.startsWith('{%') ? 'tag not closed (line 1, column 1)' : null,
}

test.each(problemCodeNames)('%s', (code) => {
  const [design, path, message] = rows[code]
  const found = validateDesign(design, context).filter((problem) => problem.code === code)
  expect(found.map((problem) => [problem.path, problem.message])).toContainEqual([path, message])
})

test('the values beside operators', () => {
  const said = (given: object) => validateDesign(rule(given), context).map(({ message }) => message)
  expect(said({ operator: 'in', value: [] })).toEqual([
    'value must be an array of 1-1000 plain values beside in, not an array',
  ])
  expect(said({ operator: 'before', value: 'soon' })).toEqual([
    'value must be a time in ms or ISO 8601 beside before, not "soon"',
  ])
  expect(said({ field: 'wait_events.n.id' })).toEqual([
    'field: "n" is not the id of a wait_for_event node; there is none',
  ])
})

test('the addresses of the team', () => {
  const said = (given: object) =>
    validateDesign(mail(given), context).map(({ path, message }) => `${path}: ${message}`)
  expect(said({ to: [], cc: ['{{ event.who }}@demo.test', 'a@x.test'] })).toEqual([
    'nodes.1.data.to: to must be one address, or a list of 1 to 10, has 0',
    'nodes.1.data.cc.0: cc.0 must be one address such as hello@acme.com, or Acme <hello@acme.com>, without Liquid, ' +
      'not "{{ event.who }}@demo.test"',
    'nodes.1.data.cc.1: cc.1: the domain x.test is not a verified domain of this workspace',
  ])
})

test('what came is cut, and shows nothing unseen', () => {
  const [problem] = validateDesign(rule({ field: `\u202e\n${'x'.repeat(5_000)}` }), context)
  expect(problem?.message.split(' not ')[1]).toBe(`"\\u202e\\u000a${'x'.repeat(58)}…"`)
})

test('no message of a design is long, whatever it holds', () => {
  const nodes = Array.from({ length: 300 }, (_, i) => ({
    id: `${'w'.repeat(60)}${i}`,
    type: 'wait_for_event',
    data: {
      event_name: 'a',
      filter: { type: 'rule', field: 'wait_events.no.a', operator: 'exists' },
    },
  }))
  const found = validateDesign({ nodes, edges: [] }, context)
  expect(found.length).toBeGreaterThan(300)
  expect(Math.max(...found.map(({ message }) => message.length))).toBeLessThan(2_000)
})
