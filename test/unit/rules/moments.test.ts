// What comes first where several are due at one moment.
import { describe, expect, test } from 'vitest'
import type { Condition } from '../../../rules/conditions/types.ts'
import type { Settings } from '../../../rules/design/settings.ts'
import type { Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { SegmentFacts } from '../../../rules/interpreterTypes.ts'
import type { Json } from '../../../rules/json.ts'
import { now, withProperties } from './builders.ts'
import { designOf, ended, sending, start } from './runners.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const soon = now + HOUR_MS

const nodes: Record<string, Node> = {
  delay: { id: 'n', type: 'delay', data: { duration: 'PT1H' } },
  wait_until: { id: 'n', type: 'wait_until', data: { at: soon } },
  wait_for_event: {
    id: 'n',
    type: 'wait_for_event',
    data: { event_name: 'came', timeout: 'PT1H' },
  },
}
const exit: Node = { id: 'x', type: 'exit', data: { outcome: 'through' } }
const graphOf = (node: Node, settings: Settings) => ({
  ...designOf([node, exit], 't>n', 'n>x', 'n.timeout>x'),
  settings,
})
const isSoon: Condition = {
  type: 'rule',
  field: 'properties.ends',
  operator: 'within_last',
  value: 'P1D',
}

/** That node, entered now and asked again at `at`, with what the contact's properties are then. */
function twice(node: Node, settings: Settings, at: number, then: Record<string, Json>) {
  const graph = graphOf(node, settings)
  const before = withProperties({ ends: soon })
  const { next } = walkSegment(graph, start, before, sending())
  const facts: SegmentFacts = { ...before, now: at, contact: withProperties(then).contact }
  const again = { kind: 'again', nodeId: 'n', since: now } as const
  return { next, later: walkSegment(graph, again, facts, sending()) }
}

describe.each(Object.keys(nodes))('at the moment at which a %s is over', (type) => {
  const node = nodes[type] ?? exit

  test.each<[string, Settings, string]>([
    ['an exit condition', { exit_conditions: [isSoon] }, 'exited'],
    ['the longest duration', { max_duration_ms: HOUR_MS }, 'max_duration'],
  ])('%s comes first', (_, settings, outcome) => {
    const { next, later } = twice(node, settings, soon, { ends: soon })
    expect(next).toMatchObject({ kind: 'wait', until: soon, again: true })
    expect(later.next).toEqual(ended(outcome))
    expect(later.left).toEqual({ handle: null, why: outcome })
  })

  test('an exit condition that holds no more lets it go on', () => {
    const { later } = twice(node, { exit_conditions: [isSoon] }, soon, { ends: soon + DAY_MS })
    expect(later.next).toEqual(ended('through'))
    const handle = type === 'wait_for_event' ? 'timeout' : 'default'
    expect(later.left).toEqual({ handle, why: null })
  })
})
