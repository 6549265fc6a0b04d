// What is wrong with a design, and where.
import type { ProblemCode } from './problemCodes.ts'

export interface Problem {
  node_id: string | null
  /** Dotted path from the design's root: `nodes.3.data.duration`. */
  path: string
  /** Names the field, what came and what is allowed. */
  message: string
  code: ProblemCode
}
