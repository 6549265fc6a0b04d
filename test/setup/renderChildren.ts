// Children of a renderer for tests: a real one whose tasks are seen, and a peer whose answers a test gives.
import { type ChildEvents, type RenderChild, startChild } from '../../mail/content/pool/child.ts'
import type { Outcome, Task } from '../../mail/content/pool/messages.ts'

/** A render that takes longer has begun by then, and was seen by the process. */
const BEGUN_MS = 100

/**
 * A real child, which is killed from outside each of the first `kills` times that it is given a task: before it can have
 * answered. `sent` has each task that was given to it or to one of those after it.
 */
export function killedChild(kills: number) {
  const sent: Task[] = []
  return {
    sent,
    start(events: ChildEvents): RenderChild {
      const started = startChild(events)
      return {
        ...started,
        send(tasks) {
          sent.push(...tasks)
          started.send(tasks)
          if (sent.length <= kills && started.pid !== undefined)
            process.kill(started.pid, 'SIGKILL')
        },
      }
    },
  }
}

/**
 * A real child whose first task may take `limit_ms` of the processor, and `clock_ms` by the clock. It stands still, as on a
 * machine that has no time for it, for `frozen_ms` after it was given that. `outcomes` has the kind of each.
 */
export function frozenChild({
  frozen_ms,
  ...times
}: Pick<Task, 'limit_ms' | 'clock_ms'> & { frozen_ms: number }) {
  const outcomes: Outcome['kind'][] = []
  let isFirst = true
  return {
    outcomes,
    start(events: ChildEvents): RenderChild {
      const started = startChild({
        ...events,
        onOutcomes(given) {
          outcomes.push(...given.map(({ kind }) => kind))
          events.onOutcomes(given)
        },
      })
      return {
        ...started,
        send(tasks) {
          const { pid } = started
          if (!isFirst || pid === undefined) return started.send(tasks)
          isFirst = false
          started.send(tasks.map((task) => ({ ...task, ...times })))
          setTimeout(() => {
            process.kill(pid, 'SIGSTOP')
            setTimeout(() => process.kill(pid, 'SIGCONT'), frozen_ms)
          }, BEGUN_MS)
        },
      }
    },
  }
}

/** No process at all: it speaks as a child does, and renders nothing. */
export function scriptedChild() {
  const sent: Task[] = []
  let events: ChildEvents | undefined
  return {
    sent,
    start(given: ChildEvents): RenderChild {
      events = given
      queueMicrotask(() => given.onReady())
      return {
        pid: undefined,
        send: (tasks) => void sent.push(...tasks),
        kill: () => undefined,
        close: async () => undefined,
      }
    },
    answer(outcome: Outcome): void {
      events?.onOutcomes([outcome])
    },
    end(): void {
      events?.onEnd({ code: null, signal: 'SIGKILL' })
    },
  }
}
