// Children of a renderer for tests: a real one whose tasks are seen, and a peer whose answers a test gives.
import { type ChildEvents, type RenderChild, startChild } from '../../mail/content/pool/child.ts'
import type { Outcome, Task } from '../../mail/content/pool/messages.ts'

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
