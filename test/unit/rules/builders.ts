// Builders of facts and designs for tests.
import type { ConditionFacts } from '../../../rules/conditions/types.ts'
import type { DesignContext } from '../../../rules/design/context.ts'
import type { Design } from '../../../rules/design/types.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import type { SegmentFacts } from '../../../rules/interpreterTypes.ts'
import type { Json } from '../../../rules/json.ts'

export const now = Date.UTC(2026, 2, 10, 12)

export function factsOf(changes: Partial<ConditionFacts> = {}): SegmentFacts {
  return {
    executionId: 'exe_1',
    workflowId: 'wfl_1',
    depth: 0,
    enteredAt: now,
    goalsReached: [],
    now,
    contact: { email: 'ada@example.test', first_seen: Date.UTC(2026, 0, 1), properties: {} },
    event: {},
    trigger: {},
    waitEvents: {},
    steps: {},
    execution: { step_count: 0 },
    eventTimes: {},
    emailActivity: {},
    audiences: [],
    ...changes,
  }
}

export function withProperties(properties: Record<string, Json>): SegmentFacts {
  return factsOf({ contact: { email: 'ada@example.test', first_seen: 0, properties } })
}

/** Edges written as `from>to` or `from.handle>to`. */
export function edgesOf(...texts: string[]): Design['edges'] {
  return texts.map((text, i) => {
    const [from = '', target = ''] = text.split('>')
    const [source = '', sourceHandle] = from.split('.')
    return { id: `e${i}`, source, target, ...(sourceHandle ? { sourceHandle } : {}) }
  })
}

/** A welcome series: email, wait for a purchase, branch by plan. Valid with `welcomeContext`. */
export function welcomeDesign(): Design {
  return {
    nodes: [
      { id: 'start', type: 'trigger', data: { kind: 'event', event_name: 'user.signed_up' } },
      { id: 'hello', type: 'send_email', data: { template_id: 'welcome' } },
      { id: 'pause', type: 'delay', data: { duration: 'P1D' } },
      {
        id: 'bought',
        type: 'wait_for_event',
        data: {
          event_name: 'order.paid',
          match: [{ event_path: 'user_id', equals_path: 'event.user_id' }],
          timeout: 'P3D',
        },
      },
      {
        id: 'mark',
        type: 'update_contact',
        data: {
          set: { last_order: { var: 'wait_events.bought.order_id' } },
          increment: { orders: 1 },
        },
      },
      {
        id: 'plan',
        type: 'branch',
        data: {
          branches: [
            {
              id: 'gold',
              label: 'Gold',
              condition: { type: 'rule', field: 'properties.orders', operator: 'gte', value: 3 },
            },
          ],
        },
      },
      {
        id: 'isnew',
        type: 'condition',
        data: {
          condition: {
            type: 'rule',
            field: 'contact.first_seen',
            operator: 'within_last',
            value: 'P30D',
          },
        },
      },
      {
        id: 'nudge',
        type: 'send_email',
        data: { subject: 'Still there?', html: '<p>Hi</p>', from: 'Shop <shop@demo.test>' },
      },
      { id: 'won', type: 'exit', data: { outcome: 'won' } },
      { id: 'lost', type: 'exit', data: {} },
    ],
    edges: edgesOf(
      'start>hello',
      'hello>pause',
      'pause>bought',
      'bought.received>mark',
      'bought.timeout>isnew',
      'mark>plan',
      'plan.gold>won',
      'plan.else>lost',
      'isnew.true>nudge',
      'isnew.false>lost',
      'nudge>bought',
    ),
    settings: { default_from: 'Shop <shop@demo.test>' },
  }
}

export const welcomeContext: DesignContext = {
  templates: new Map([
    ['welcome', { status: 'published', hasSubject: true, from: null }],
    ['unfinished', { status: 'draft', hasSubject: false, from: null }],
    ['untitled', { status: 'published', hasSubject: false, from: 'x@elsewhere.test' }],
  ]),
  verifiedDomains: new Set(['demo.test']),
  audiences: new Set(['aud_1']),
  segments: new Set(['seg_1']),
  workflows: new Set(['wf_1']),
}

type Loose = { [key: string]: unknown }

export interface LooseDesign extends Loose {
  nodes: Loose[]
  edges: Loose[]
}

/** A copy of the welcome series as plain JSON, for tests to change. */
export const looseDesign = (): LooseDesign => JSON.parse(JSON.stringify(welcomeDesign()))

/** Each problem as `path code`. */
export function codesOf(design: unknown, context = welcomeContext): string[] {
  return validateDesign(design, context).map(({ path, code }) => `${path} ${code}`)
}

/** A design: trigger `t` → node `n` → exit `x`, with these handles of the node connected to the exit. */
export function designAround(type: string, data: unknown, ...handles: string[]): Loose {
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
