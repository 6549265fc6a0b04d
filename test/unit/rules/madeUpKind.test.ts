// A node kind that is only in one file and in a registry is validated, run, counted and documented.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { designNeeds } from '../../../rules/design/needs.ts'
import { designReferences } from '../../../rules/design/references.ts'
import { designSchemas } from '../../../rules/design/schema.ts'
import { eventTriggers, triggerByHand } from '../../../rules/design/triggers.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { handleAfterWait, walkSegment } from '../../../rules/interpreter.ts'
import {
  always,
  defineNode,
  namesNothing,
  never,
  noConditions,
} from '../../../rules/nodes/define.ts'
import { nodeKinds } from '../../../rules/nodes/index.ts'
import { createRegistry } from '../../../rules/nodes/registry.ts'
import { edgesOf, factsOf, now, welcomeContext } from './builders.ts'
import { luckyDraw } from './madeUpKind.ts'
import { ended, sending, start } from './runners.ts'

const registry = createRegistry([...nodeKinds, luckyDraw])

const until_holds = {
  type: 'and',
  rules: [
    { type: 'audience', audience_id: 'aud_1', member: true },
    { type: 'email_activity', node_id: 'n', status: 'sent' },
  ],
}
const data = { prize: 'welcome', event_name: 'ticket.bought', until_holds }

function draw(given: object = data, ...edges: string[]) {
  return {
    nodes: [
      { id: 't', type: 'trigger', data: { kind: 'manual' } },
      { id: 'n', type: 'lucky_draw', data: given },
      { id: 'x', type: 'exit', data: { outcome: 'rich' } },
    ],
    edges: edgesOf('t>n', ...(edges.length > 0 ? edges : ['n.won>x', 'n.lost>x', 'n.again>x'])),
  }
}
const problemsOf = (design: object, known = registry) =>
  validateDesign(design, welcomeContext, known).map(({ path, code }) => `${path} ${code}`)

describe('validated', () => {
  test('it is a known type only in this registry', () => {
    expect(problemsOf(draw())).toEqual([])
    expect(problemsOf(draw(), createRegistry(nodeKinds))).toContain(
      'nodes.1.type unknown_node_type',
    )
  })
  test('with problem codes of its own, and those of its condition', () => {
    expect(problemsOf(draw({ event_name: 'a b' }))).toEqual([
      'nodes.1.data.prize missing_value',
      'nodes.1.data.event_name bad_event_name',
      'nodes.1.data.until_holds empty_condition',
    ])
    const foreign = { type: 'audience', audience_id: 'aud_9', member: true }
    expect(problemsOf(draw({ ...data, until_holds: foreign }))).toEqual([
      'nodes.1.data.until_holds.audience_id unknown_audience',
    ])
  })
  test('exactly its handles can be connected', () => {
    expect(problemsOf(draw(data, 'n.won>x', 'n.lost>x'))).toEqual(['nodes.1 unwired_handle'])
    expect(problemsOf(draw(data, 'n.won>x', 'n.lost>x', 'n.again>x', 'n>x'))).toEqual([
      'edges.4.sourceHandle unknown_handle',
    ])
  })
  test('a loop through it needs its wait', () => {
    const loop = ['n.lost>x', 'n.again>n']
    expect(problemsOf(draw(data, 'n.won>x', ...loop))).toEqual(['nodes.1 loop_without_wait'])
    expect(problemsOf(draw({ ...data, prize: 'none' }, ...loop))).toEqual([])
  })
})

test('the things that it refers to and reads are loaded', () => {
  expect(designReferences(draw(), registry)).toEqual({
    templateIds: ['welcome'],
    fromAddresses: [],
    teamAddresses: [],
    audienceIds: ['aud_1'],
    segmentIds: [],
    workflowIds: [],
  })
  expect(designNeeds(draw(), registry)).toEqual({
    fields: false,
    eventNames: ['ticket.bought'],
    audienceIds: ['aud_1'],
    segmentIds: [],
    emailActivity: true,
    steps: false,
  })
})

describe('run', () => {
  const run = (facts = factsOf(), from: Parameters<typeof walkSegment>[1] = start) =>
    walkSegment(draw(), from, facts, sending(), registry)
  test('it takes a handle', () => {
    const outcome = run(factsOf({ eventTimes: { 'ticket.bought': [1, 2] } }))
    expect(outcome.steps[1]).toEqual({
      nodeId: 'n',
      type: 'lucky_draw',
      handle: 'won',
      why: '2 tickets',
    })
    expect(outcome.next).toEqual(ended('rich'))
  })
  test('it waits for a condition, and takes the handle of what ended the wait', () => {
    const { next } = run()
    expect(next).toEqual({
      kind: 'wait',
      nodeId: 'n',
      for: 'condition',
      until: now + 1000,
      since: now,
      condition: until_holds,
    })
    expect(handleAfterWait(draw(), 'n', 'condition', registry)).toBe('again')
    expect(handleAfterWait(draw(), 'n', 'timer', registry)).toBe('lost')
    expect(run(factsOf(), { kind: 'resume', nodeId: 'n', handle: 'again' }).next).toEqual(
      ended('rich'),
    )
  })
})

test('documented', () => {
  const schemas = designSchemas(registry)
  expect(schemas['LuckyDrawNode']).toMatchObject({
    description: 'Draws a prize for the contact.',
    properties: {
      type: { const: 'lucky_draw' },
      data: {
        properties: {
          prize: { type: 'string', description: 'The template that tells of the prize' },
          until_holds: { $ref: '#/components/schemas/Condition' },
        },
        required: ['prize', 'event_name', 'until_holds'],
      },
    },
  })
  const ref = '#/components/schemas/LuckyDrawNode'
  expect(schemas['DesignNode']).toMatchObject({
    oneOf: expect.arrayContaining([{ $ref: ref }]),
    discriminator: { mapping: { lucky_draw: ref } },
  })
})

test('a start of another type starts executions, by its event and by hand', () => {
  const doorbell = defineNode({
    type: 'doorbell',
    summary: 'Starts when somebody rings.',
    data: z.object({}),
    role: 'start',
    handleTexts: { default: 'Somebody rings' },
    handles: always('default'),
    waits: never,
    check: () => [],
    conditions: noConditions,
    names: namesNothing,
    entry: () => ({ event_name: 'rang', about: null, filter: null, re_entry: null }),
    enter: () => ({ handle: 'default', why: null }),
  })
  const known = createRegistry([...nodeKinds, doorbell])
  const design = { nodes: [{ id: 'd', type: 'doorbell', data: {} }], edges: [] }
  const started = { node_id: 'd', event_name: 'rang', about: null, filter: null, re_entry: null }
  expect(eventTriggers(design, known)).toEqual([started])
  expect(triggerByHand(design, known)).toEqual({ node_id: 'd', re_entry: null })
})

test('two kinds of the same type are refused', () => {
  expect(() => createRegistry([...nodeKinds, luckyDraw, luckyDraw])).toThrow(/same type/)
})
