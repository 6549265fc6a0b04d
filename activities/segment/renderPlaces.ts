// Bounds how many segments of one workspace are with the renderer at once: each of them holds one of the few places that
// a worker has for segments, so one customer's slow templates would otherwise stop everybody's executions.
import type { WorkspaceId } from '../../rules/ids.ts'

interface Bounds {
  /** Segments of one workspace. */
  each: number
  /** How long one waits for a place, and how long those before it may have been there for that to make sense. */
  wait_ms: number
}

const usual: Bounds = { each: 4, wait_ms: 500 }

interface Line {
  /** When each of those inside entered, in ms of a clock that only goes forward; the oldest first. */
  inside: Set<{ entered_ms: number }>
  waiting: Set<() => void>
}

export type RenderPlaces = ReturnType<typeof createRenderPlaces>

/** Makes the places of one worker. */
export function createRenderPlaces({ each, wait_ms }: Bounds = usual) {
  const lines = new Map<WorkspaceId, Line>()

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

  return {
    /**
     * Takes a place, at once or after a short wait.
     * @returns a function that gives it back; null when those before it take long: then the segment comes again later
     */
    take(workspaceId: WorkspaceId): Promise<(() => void) | null> {
      const line = lines.get(workspaceId) ?? { inside: new Set(), waiting: new Set() }
      lines.set(workspaceId, line)
      if (line.inside.size < each) return Promise.resolve(enter(workspaceId, line))
      const [oldest] = line.inside
      if (oldest && performance.now() - oldest.entered_ms > wait_ms) return Promise.resolve(null)
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
