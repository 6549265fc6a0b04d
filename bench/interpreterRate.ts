// Figure: nodes a second of the interpreter alone, without Postgres or Temporal.
import type { Graph } from '../rules/design/types.ts'
import { walkSegment } from '../rules/interpreter.ts'
import { withProperties } from '../test/unit/rules/builders.ts'
import { type BenchOptions, type Figure, figure } from './report.ts'
import { interleave } from './rounds.ts'

const NODES_AT_LEAST = 500_000
const ROUNDS = 5

const rule = { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' } as const

/** Kinds in turn, each of which asks a condition: as many nodes as a design may have. */
interface Kind {
  type: string
  data: object
  /** By which it is left; undefined: the default. */
  handle?: string
}

const kinds: readonly Kind[] = [
  { type: 'condition', data: { condition: rule }, handle: 'true' },
  {
    type: 'branch',
    data: { branches: [{ id: 'free', label: 'Free', condition: { type: 'not', rules: [rule] } }] },
    handle: 'else',
  },
  { type: 'filter', data: { condition: rule } },
]

function longDesign(): Graph {
  const kindAt = (n: number): Kind => kinds[n % kinds.length] ?? { type: 'note', data: {} }
  const all: (Kind & { id: string })[] = [
    { id: 'start', type: 'trigger', data: { kind: 'manual' } },
    ...Array.from({ length: 298 }, (_, n) => ({ id: `n${n}`, ...kindAt(n) })),
    { id: 'end', type: 'exit', data: {} },
  ]
  const edges = all.slice(1).map(({ id }, i) => {
    const handle = all[i]?.handle
    const source = all[i]?.id ?? ''
    return { id: `e${i}`, source, target: id, ...(handle ? { sourceHandle: handle } : {}) }
  })
  return { nodes: all.map(({ handle: _, ...node }) => node), edges } as Graph
}

const facts = withProperties({ plan: 'pro' })

export async function measureInterpreter({
  say,
  quick,
}: Pick<BenchOptions, 'say' | 'quick'>): Promise<Figure> {
  const design = longDesign()
  const walks = quick ? 200 : 3_000
  const walk = () => {
    const { steps } = walkSegment(design, { kind: 'trigger', nodeId: 'start' }, facts, {
      sendEmail: () => ({ kind: 'sent' }),
    })
    if (steps.length !== design.nodes.length) throw new Error(`a walk took ${steps.length} steps`)
  }
  for (let n = 0; n < walks; n++) walk()
  const pairs = await interleave({
    rounds: quick ? 2 : ROUNDS,
    unit: 'nodes/s',
    subject: async () => {
      const begin = performance.now()
      for (let n = 0; n < walks; n++) walk()
      return (walks * design.nodes.length) / ((performance.now() - begin) / 1000)
    },
    reference: async () => NODES_AT_LEAST,
    say,
  })
  return figure('the interpreter alone', pairs, 'nodes/s', { at_least: 1 })
}
