// Bounds how many segments of one workspace are with the renderer at once: each of them holds one of the few places that
// a worker has for segments, so one customer's slow templates would otherwise stop everybody's executions.
import type { WorkspaceId } from '../../rules/ids.ts'

interface Bounds {
  /** Segments of one workspace that are rendered, and as many that may wait for them. */
  each: number
  /** How long one waits for a place; nobody waits where the oldest inside has been there for longer. */
  wait_ms: number
  /** How soon a segment that was turned away comes again, and how far apart those of one workspace do. */
  again_ms: number
  apart_ms: number
}

const usual: Bounds = { each: 4, wait_ms: 500, again_ms: 4_000, apart_ms: 10 }

interface Line {
  /** When each of those inside entered, in ms of a clock that only goes forward; the oldest first. */
  inside: Set<{ entered_ms: number }>
  waiting: Set<() => void>
}

export type RenderPlaces = ReturnType<typeof createRenderPlaces>

/** Makes the places of one worker. */
export function createRenderPlaces(bounds: Partial<Bounds> = {}) {
  const { each, wait_ms, again_ms, apart_ms } = { ...usual, ...bounds }
  const lines = new Map<WorkspaceId, Line>()
  const comebacks = createComebacks(again_ms, apart_ms)

  function enter(workspaceId: WorkspaceId, line: Line): () => void {
    const one = { entered_ms: performance.now() }
    line.inside.add(one)
    return () => {
      line.inside.delete(one)
      const [next] = line.waiting
      if (next) next()
      else if (line.inside.size === 0) lines.delete(workspaceId)
    }
  }

  const mayWait = ({ inside, waiting }: Line): boolean => {
    const [oldest] = inside
    // A timer may fire up to 1 ms early by this clock: who comes just after a wait has ended must find it long too.
    const long_ms = wait_ms - 1
    return waiting.size < each && (!oldest || performance.now() - oldest.entered_ms < long_ms)
  }

  return {
    /** Whether `take` would turn a segment of this workspace away now. */
    isFull(workspaceId: WorkspaceId): boolean {
      const line = lines.get(workspaceId)
      return line !== undefined && line.inside.size >= each && !mayWait(line)
    },
    /** In how many ms a segment that was turned away comes again. */
    comeback: comebacks.next,
    /**
     * Takes a place, at once or after a short wait.
     * @returns a function that gives it back; null when those before it take long: then the segment comes again later
     */
    take(workspaceId: WorkspaceId): Promise<(() => void) | null> {
      const line = lines.get(workspaceId) ?? { inside: new Set(), waiting: new Set() }
      lines.set(workspaceId, line)
      if (line.inside.size < each) return Promise.resolve(enter(workspaceId, line))
      if (!mayWait(line)) return Promise.resolve(null)
      return new Promise((resolve) => {
        const leave = () => {
          clearTimeout(timer)
          line.waiting.delete(called)
        }
        const called = () => {
          leave()
          resolve(enter(workspaceId, line))
        }
        const timer = setTimeout(() => {
          leave()
          resolve(null)
        }, wait_ms)
        line.waiting.add(called)
      })
    },
  }
}

/** Spreads those that come again: however many a workspace has, so many a second of them ask. */
function createComebacks(again_ms: number, apart_ms: number) {
  const last = new Map<WorkspaceId, number>()
  return {
    next(workspaceId: WorkspaceId): number {
      const now = performance.now()
      for (const [other, at] of last) {
        if (at > now) break
        last.delete(other)
      }
      const at = Math.max(now + again_ms, (last.get(workspaceId) ?? 0) + apart_ms)
      last.delete(workspaceId)
      last.set(workspaceId, at)
      return Math.round(at - now)
    },
  }
}
