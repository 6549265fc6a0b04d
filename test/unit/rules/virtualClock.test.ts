// Random valid designs with a virtual clock: every segment ends in a wait or an end, the same each time.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Design, Node } from '../../../rules/design/types.ts'
import { validateDesign } from '../../../rules/design/validate.ts'
import { handleAfterWait, walkSegment } from '../../../rules/interpreter.ts'
import type {
  SegmentFacts,
  SegmentOutcome,
  SegmentStart,
  SendOutcome,
} from '../../../rules/interpreterTypes.ts'
import { nodeRegistry } from '../../../rules/nodes/index.ts'
import { factsOf, welcomeContext } from './builders.ts'

type Drawn = { type: Node['type']; data: object }

const condition = fc.constantFrom(
  { type: 'rule', field: 'properties.n', operator: 'gt', value: 2 },
  { type: 'rule', field: 'execution.step_count', operator: 'lt', value: 9 },
  { type: 'event_count', event_name: 'a', operator: 'eq', value: 0 },
)
const drawn: fc.Arbitrary<Drawn> = fc.oneof(
  fc.constant({
    type: 'send_email' as const,
    data: { subject: 'S', text: 'T', from: 'a@demo.test' },
  }),
  fc.record({
    type: fc.constant('delay' as const),
    data: fc.record({ ms: fc.nat(5), jitter_ms: fc.nat(3) }),
  }),
  fc.constantFrom(
    { type: 'wait_for_event' as const, data: { event_name: 'a', timeout: 'PT1H' } },
    { type: 'wait_for_event' as const, data: { event_name: 'a' } },
  ),
  fc.record({ type: fc.constant('condition' as const), data: fc.record({ condition }) }),
  condition.map((one) => ({
    type: 'branch' as const,
    data: {
      branches: [
        { id: 'a', condition: one },
        { id: 'b', condition: one },
      ],
    },
  })),
  fc.constant({ type: 'update_contact' as const, data: { increment: { n: 1 } } }),
  fc.constant({ type: 'exit' as const, data: {} }),
)

/** Random graphs of nodes in a row with handles to any of them. The test uses the valid ones. */
const design = fc
  .tuple(fc.array(drawn, { minLength: 1, maxLength: 8 }), fc.infiniteStream(fc.nat()))
  .map(([list, targets]): Design => {
    const nodes = [
      { id: 't', type: 'trigger', data: { kind: 'manual' } },
      ...list.map((one, i) => ({ id: `n${i}`, ...one })),
    ] as Node[]
    const edges = nodes.flatMap((node, at) => {
      const kind = nodeRegistry.find(node.type)
      const required = kind?.handles(JSON.parse(JSON.stringify(node.data))).required ?? []
      return required.map((sourceHandle, i) => {
        // The first handle leads to the next node, so that most of these graphs are connected.
        const any = Number(targets.next().value) % list.length
        const target = `n${i === 0 && at < list.length ? at : any}`
        return { id: `e${at}_${i}`, source: node.id, target, sourceHandle }
      })
    })
    return { nodes, edges }
  })

const outcomes: SendOutcome[] = [
  { kind: 'sent' },
  { kind: 'suppressed' },
  { kind: 'failed', why: 'bad template' },
]

/** Runs an execution for at most twenty segments. `choices` decide the result of each send and wait. */
function runAll(design: Design, choices: number[]): SegmentOutcome[] {
  let draws = 0
  const draw = (): number => choices[draws++ % choices.length] ?? 0
  let facts: SegmentFacts = factsOf()
  let start: SegmentStart = { kind: 'trigger', nodeId: 't' }
  const segments: SegmentOutcome[] = []
  while (segments.length < 20) {
    const outcome = walkSegment(design, start, facts, {
      sendEmail: () => outcomes[draw() % outcomes.length] ?? { kind: 'sent' },
    })
    segments.push(outcome)
    const { next } = outcome
    if (next.kind !== 'wait') break
    const isByTime = next.for === 'nothing' || (next.until !== null && draw() % 2 === 0)
    const now = isByTime ? (next.until ?? 0) : facts.now + 1
    facts = {
      ...facts,
      now,
      contact: { ...facts.contact, properties: outcome.facts.contact.properties },
      execution: { step_count: facts.execution.step_count + outcome.steps.length },
    }
    const handle = handleAfterWait(design, next.nodeId, isByTime ? 'timer' : 'event')
    start = { kind: 'resume', nodeId: next.nodeId, handle }
  }
  return segments
}

test('valid designs wait or end, and a replay does the same', () => {
  let valid = 0
  fc.assert(
    fc.property(design, fc.array(fc.nat(), { minLength: 1, maxLength: 5 }), (graph, choices) => {
      const problems = validateDesign(graph, welcomeContext)
      const isRunnable = problems.every((problem) => problem.code === 'unreachable_node')
      if (!isRunnable) return
      valid++
      const segments = runAll(graph, choices)
      expect(runAll(graph, choices)).toEqual(segments)
      for (const { steps, next } of segments) {
        // Without a loop, no node is entered twice between two waits.
        expect(new Set(steps.map((step) => step.nodeId)).size).toBe(steps.length)
        if (next.kind === 'end' && next.status === 'FAILED') {
          expect(next.error).toMatch(/: (suppressed|bad template)$/)
        }
      }
    }),
    { numRuns: 300 },
  )
  // Enough designs must be valid, or the test would prove nothing.
  expect(valid).toBeGreaterThan(20)
})
