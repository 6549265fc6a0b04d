// Which trigger an event starts, and that states only move to states.
import { expect, test } from 'vitest'
import type { Condition } from '../../../rules/conditions/types.ts'
import { eventTriggers, manualTrigger, matchTrigger } from '../../../rules/design/triggers.ts'
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
    { id: 'm', type: 'trigger', data: { kind: 'manual' } },
    { id: 'z', type: 'trigger', data: { kind: 'event', event_name: 'a', filter: plan('pro') } },
    { id: 'x', type: 'exit', data: {} },
    { id: 'b', type: 'trigger', data: { kind: 'event', event_name: 'a' } },
  ],
  edges: [],
}

test('the first trigger in design order whose filter holds', () => {
  const triggers = eventTriggers(design)
  expect(triggers).toEqual([
    { node_id: 'z', event_name: 'a', filter: plan('pro') },
    { node_id: 'b', event_name: 'a', filter: null },
  ])
  expect(matchTrigger(triggers, factsOf({ event: { plan: 'pro' } }))?.node_id).toBe('z')
  expect(matchTrigger(triggers, factsOf({ event: { plan: 'free' } }))?.node_id).toBe('b')
  expect(matchTrigger(triggers.slice(0, 1), factsOf())).toBeNull()
  expect(matchTrigger([], factsOf())).toBeNull()
})

test('the manual trigger', () => {
  expect(manualTrigger(design)).toBe('m')
  expect(manualTrigger({ nodes: design.nodes.slice(1), edges: [] })).toBeNull()
})

const tables: [string, Record<string, readonly string[]>, string[]][] = [
  ['workflow', states.workflowTransitions, []],
  ['execution', states.executionTransitions, ['COMPLETED', 'FAILED', 'CANCELLED']],
  ['delivery', states.deliveryTransitions, ['bounced', 'cancelled', 'suppressed']],
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

test('the moves that the ledger forbids', () => {
  const { deferred, data_sent } = states.deliveryTransitions
  // Cancelled and suppressed come before any attempt; nothing returns to the queue once the dot may be out.
  expect(deferred).not.toContain('cancelled')
  expect(data_sent).not.toContain('queued')
})
