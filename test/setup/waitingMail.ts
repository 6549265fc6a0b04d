// Mail that waits in lines, for tests of what a lane remembers.
import type { InLine } from '../../db/deliveries/lines.ts'

/** Room for everything, everywhere. */
export const anyRoom = { known: new Map<string, number>(), other: Number.POSITIVE_INFINITY }
let lastId = 0

export interface Waiting {
  count: number
  class?: number
  workspace?: string
  destination?: string
  at?: number
}

/** Mail of one line, as a lane is told of it. */
export const waiting = ({ count, ...over }: Waiting): InLine[] =>
  Array.from({ length: count }, () => {
    lastId += 1
    const { workspace = 'ws_1', destination = 'one.test', at = 0 } = over
    return {
      class: over.class ?? 0,
      workspace_id: workspace,
      shard: 5,
      destination,
      at,
      id: lastId,
    }
  })
