// Which trigger an event starts, and the tables of states.
import { expect, test } from 'vitest'
import type { Condition } from '../../../rules/conditions/types.ts'
import { eventTriggers, matchTrigger, triggerByHand } from '../../../rules/design/triggers.ts'
import type { Design } from '../../../rules/design/types.ts'
import * as states from '../../../rules/states.ts'
import { factsOf } from './builders.ts'

const plan = (value: string): Condition => ({
  type: 'rule',
  field: 'event.plan',
  operator: 'eq',
  value,
})
const design: Design = {
  nodes: [
    {
      id: 'w',
      type: 'trigger',
      data: { kind: 'event', event_name: 'b', re_entry: { mode: 'once' } },
    },
    { id: 'm', type: 'trigger', data: { kind: 'manual', re_entry: { mode: 'after_exit' } } },
    { id: 'z', type: 'trigger', data: { kind: 'event', event_name: 'a', filter: plan('pro') } },
    { id: 'x', type: 'exit', data: {} },
    { id: 'b', type: 'trigger', data: { kind: 'event', event_name: 'a' } },
  ],
  edges: [],
}

test('the first trigger in the order of the design whose filter is true', () => {
  const [other, ...triggers] = eventTriggers(design)
  const once = { mode: 'once' }
  expect(other).toEqual({
    node_id: 'w',
    event_name: 'b',
    about: null,
    filter: null,
    re_entry: once,
  })
  expect(triggers).toEqual([
    { node_id: 'z', event_name: 'a', about: null, filter: plan('pro'), re_entry: null },
    { node_id: 'b', event_name: 'a', about: null, filter: null, re_entry: null },
  ])
  expect(matchTrigger(triggers, factsOf({ event: { plan: 'pro' } }))?.node_id).toBe('z')
  expect(matchTrigger(triggers, factsOf({ event: { plan: 'free' } }))?.node_id).toBe('b')
  expect(matchTrigger(triggers.slice(0, 1), factsOf())).toBeNull()
  expect(matchTrigger([], factsOf())).toBeNull()
})

test('a manual start begins at the manual trigger, or at the first one', () => {
  expect(triggerByHand(design)).toEqual({ node_id: 'm', re_entry: { mode: 'after_exit' } })
  const nodes = design.nodes.filter(({ id }) => id !== 'm')
  expect(triggerByHand({ nodes, edges: [] })).toEqual({
    node_id: 'w',
    re_entry: { mode: 'once' },
  })
  expect(triggerByHand({ nodes: [], edges: [] })).toBeUndefined()
})

const tables: [string, Record<string, readonly string[]>, string[]][] = [
  ['workflow', states.workflowTransitions, []],
  ['execution', states.executionTransitions, ['COMPLETED', 'FAILED', 'CANCELLED']],
  ['delivery', states.deliveryTransitions, ['cancelled', 'suppressed']],
  ['domain', states.domainTransitions, []],
]

test.each(tables)(
  '%s states move only to states, and end where they should',
  (_name, table, ends) => {
    for (const [from, targets] of Object.entries(table)) {
      expect(Object.keys(table), from).toEqual(expect.arrayContaining([...targets]))
      expect(new Set(targets).size, from).toBe(targets.length)
    }
    const final = Object.keys(table).filter((state) => table[state]?.length === 0)
    expect(final).toEqual(ends)
  },
)

test('moves that deliveries must not have', () => {
  const { unknown, delivered, sending } = states.deliveryTransitions
  // A delivery that may have arrived never becomes waiting by itself, and only a marked one becomes delivered.
  expect(unknown).not.toContain('queued')
  expect(delivered).not.toContain('queued')
  expect(sending).not.toContain('delivered')
})

test('the phases of delivery states', () => {
  expect(states.waitingStates).toEqual(['queued', 'deferred'])
  expect(states.underWayStates).toEqual(['sending', 'data_sent'])
  expect([...states.settledStates].sort()).toEqual(
    ['delivered', 'bounced', 'unknown', 'cancelled', 'suppressed'].sort(),
  )
  // The phases agree with the moves: waiting deliveries can be claimed, and only an attempt ends in a deferral.
  expect(states.waitingStates).toEqual(states.statesBefore('sending'))
  expect(states.underWayStates).toEqual(states.statesBefore('deferred'))
  expect(states.statesBefore('delivered')).toEqual(['data_sent'])
  expect(states.statesBefore('queued')).toEqual(['sending', 'data_sent', 'deferred', 'bounced'])
  expect(states.endedStatuses).toEqual(['COMPLETED', 'FAILED', 'CANCELLED'])
})
