// The interpreter for each node: handles, reasons, waits and ends.
import { describe, expect, test } from 'vitest'
import type { Condition } from '../../../rules/conditions/types.ts'
import type { Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import { factsOf, now, welcomeDesign, withProperties } from './builders.ts'
import { designOf, ended, exists, failed, runOne, sending, start } from './runners.ts'

describe('the welcome series', () => {
  const design = welcomeDesign()
  const facts = factsOf({ event: { user_id: 7 } })
  test('sends an email and waits a day', () => {
    const tools = sending()
    const outcome = walkSegment(design, { kind: 'trigger', nodeId: 'start' }, facts, tools)
    expect(outcome.steps).toEqual([
      { nodeId: 'start', type: 'trigger', handle: 'default', why: 'user.signed_up' },
      { nodeId: 'hello', type: 'send_email', handle: 'default', why: null },
      { nodeId: 'pause', type: 'delay', handle: null, why: null },
    ])
    expect(outcome.next).toEqual({
      kind: 'wait',
      nodeId: 'pause',
      for: 'nothing',
      until: now + 86_400_000,
      since: now,
    })
    expect(outcome.facts.contact.properties).toBe(facts.contact.properties)
    expect(tools.sent).toEqual(['hello'])
  })
  test('then waits for a purchase of the same contact', () => {
    const outcome = walkSegment(
      design,
      { kind: 'resume', nodeId: 'pause', handle: 'default' },
      facts,
      sending(),
    )
    expect(outcome.steps.map((step) => step.nodeId)).toEqual(['bought'])
    expect(outcome.next).toEqual({
      kind: 'wait',
      nodeId: 'bought',
      for: 'event',
      eventName: 'order.paid',
      filter: { type: 'rule', field: 'event.user_id', operator: 'eq', value: 7 },
      until: now + 3 * 86_400_000,
      since: now,
      lookbackMs: 0,
    })
  })
  test('the third purchase takes the branch gold, by properties that were just written', () => {
    const paid = {
      ...facts,
      contact: { ...facts.contact, properties: { orders: 2 } },
      waitEvents: { bought: { order_id: 'o3' } },
    }
    const resume = { kind: 'resume', nodeId: 'bought', handle: 'received' } as const
    const outcome = walkSegment(design, resume, paid, sending())
    expect(outcome.steps).toEqual([
      { nodeId: 'mark', type: 'update_contact', handle: 'default', why: null },
      { nodeId: 'plan', type: 'branch', handle: 'gold', why: 'Gold' },
      { nodeId: 'won', type: 'exit', handle: null, why: null },
    ])
    expect(outcome.facts.contact.properties).toEqual({ orders: 3, last_order: 'o3' })
    expect(paid.contact.properties).toEqual({ orders: 2 })
    expect(outcome.next).toEqual(ended('won'))
  })
  test('without a purchase it sends a reminder or ends', () => {
    const resume = { kind: 'resume', nodeId: 'bought', handle: 'timeout' } as const
    const late = walkSegment(design, resume, facts, sending())
    expect(late.steps[0]).toEqual({
      nodeId: 'isnew',
      type: 'condition',
      handle: 'false',
      why: 'contact.first_seen within_last "P30D" is false',
    })
    expect(late.next).toEqual(ended('completed'))
    const young = { ...facts, contact: { ...facts.contact, first_seen: now - 5 } }
    const nudged = walkSegment(design, resume, young, sending())
    expect(nudged.steps.map((step) => step.nodeId)).toEqual(['isnew', 'nudge', 'bought'])
  })
})

describe('delay', () => {
  const delay = (data: Extract<Node, { type: 'delay' }>['data']): Node => ({
    id: 'n',
    type: 'delay',
    data,
  })
  const untilOf = (node: Node, facts = factsOf()): number => {
    const { next } = runOne(node, ['default'], facts)
    return next.kind === 'wait' && next.for === 'nothing' ? next.until - facts.now : -1
  }
  test('of milliseconds, of a month, of zero', () => {
    expect(untilOf(delay({ ms: 5 }))).toBe(5)
    expect(untilOf(delay({ duration: 'P1M' }))).toBe(31 * 86_400_000)
    expect(untilOf(delay({ duration: 'PT0S' }))).toBe(-1)
    expect(runOne(delay({ ms: 0 }), ['default']).next).toEqual(ended('default'))
  })
  test('jitter depends only on execution and node', () => {
    const jittered = delay({ ms: 1000, jitter_ms: 500 })
    const drawn = new Set<number>()
    for (let i = 0; i < 50; i++) {
      const facts = { ...factsOf(), executionId: `exe_${i}` }
      const wait_ms = untilOf(jittered, facts)
      expect(wait_ms).toBeGreaterThanOrEqual(1000)
      expect(wait_ms).toBeLessThanOrEqual(1500)
      expect(untilOf(jittered, { ...facts, now: now + 99 })).toBe(wait_ms)
      drawn.add(wait_ms)
    }
    expect(drawn.size).toBeGreaterThan(25)
    const lap = factsOf({ execution: { step_count: 9 } })
    expect(untilOf(jittered, lap)).not.toBe(untilOf(jittered))
  })
})

describe('waits, conditions and ends', () => {
  test('a wait without timeout has no deadline', () => {
    const data = { event_name: 'paid', lookback_ms: 60 }
    const { next } = runOne({ id: 'n', type: 'wait_for_event', data }, ['received'])
    const wait = { for: 'event', eventName: 'paid', filter: null, until: null, lookbackMs: 60 }
    expect(next).toEqual({ kind: 'wait', nodeId: 'n', since: now, ...wait })
  })
  test('conditions see the current count of steps', () => {
    const condition: Condition = {
      type: 'rule',
      field: 'execution.step_count',
      operator: 'eq',
      value: 12,
    }
    const node: Node = { id: 'n', type: 'condition', data: { condition } }
    const facts = factsOf({ execution: { step_count: 10 } })
    expect(runOne(node, ['true', 'false'], facts).next).toEqual(ended('true'))
    expect(runOne(node, ['true', 'false'], factsOf()).next).toEqual(ended('false'))
  })
  test('the first branch that is true, otherwise the else handle', () => {
    const branches = [
      { id: 'a', condition: exists },
      { id: 'b', label: 'Bee', condition: exists },
    ]
    const node: Node = { id: 'n', type: 'branch', data: { branches } }
    const found = runOne(node, ['a', 'b', 'else'], factsOf({ event: { a: 1 } }))
    expect([found.next, found.steps[1]?.why]).toEqual([ended('a'), 'a'])
    const none = runOne(node, ['a', 'b', 'else'])
    expect([none.next, none.steps[1]?.why]).toEqual([ended('else'), 'no branch matched'])
  })
  test('an update notes what it left unchanged', () => {
    const node: Node = { id: 'n', type: 'update_contact', data: { increment: { plan: 1 } } }
    const facts = withProperties({ plan: 'pro' })
    const outcome = runOne(node, ['default'], facts)
    expect(outcome.steps[1]?.why).toBe('plan is not a number')
    expect(outcome.facts.contact.properties).toBe(facts.contact.properties)
  })
  test('a handle without an edge ends the execution, also after a wait', () => {
    const design = designOf([], 't>t2')
    const resume = { kind: 'resume', nodeId: 't', handle: 'timeout' } as const
    expect(walkSegment(design, resume, factsOf(), sending())).toMatchObject({
      steps: [],
      next: ended('completed'),
    })
  })
  test('a node that cannot run fails with a message', () => {
    expect(walkSegment(designOf([], 't>gone'), start, factsOf(), sending()).next).toEqual(
      failed('the design has no node gone'),
    )
    const note: Node = { id: 'n', type: 'note', data: {} }
    expect(runOne(note, []).next).toEqual(failed('a note node cannot run'))
  })
  test('an endless loop is stopped', () => {
    const again: Node = { id: 'n', type: 'update_contact', data: { increment: { laps: 1 } } }
    expect(() => walkSegment(designOf([again], 't>n', 'n>n'), start, factsOf(), sending())).toThrow(
      'loop_without_time: n was entered twice without a wait between',
    )
  })
})
