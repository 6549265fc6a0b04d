// What is wrong with a design, and where.

export interface Problem {
  node_id: string | null
  /** Dotted path from the design's root: `nodes.3.data.duration`. */
  path: string
  message: string
  /** snake_case, stable. */
  code: string
}
