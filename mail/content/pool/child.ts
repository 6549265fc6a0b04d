// Starts the child process of a renderer, and ends it when it says nothing any more.
import type { ChildProcess } from 'node:child_process'
import { forkProcess } from './launch.ts'
import type { FromChild, Outcome, Task } from './messages.ts'

const TICK_MS = 1_000
/** The child says every second that it is alive. Ticks do not pile up while this process itself stands still. */
const SILENT_TICKS_MAX = 15
const STARTING_TICKS_MAX = 120

export interface ChildEvents {
  /** Its threads are started. */
  onReady(): void
  onOutcomes(outcomes: Outcome[]): void
  /** It has ended, for whatever reason but `close`. */
  onEnd(facts: { code: number | null; signal: string | null }): void
}

export interface RenderChild {
  pid: number | undefined
  send(tasks: Task[]): void
  kill(): void
  close(): Promise<void>
}

/** Starts the child. Of this process's variables it has only PATH, TMPDIR and HOME. */
export function startChild(events: ChildEvents): RenderChild {
  const { PATH, TMPDIR, HOME } = process.env
  const child: ChildProcess = forkProcess({
    env: withoutUndefined({ PATH, TMPDIR, HOME }),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  let silentTicks = 0
  let ticksMax = STARTING_TICKS_MAX
  let isOver = false
  const ticks = setInterval(() => {
    silentTicks += 1
    if (silentTicks > ticksMax) child.kill('SIGKILL')
  }, TICK_MS)
  ticks.unref()

  const exited = new Promise<void>((resolve) => {
    const end = (code: number | null, signal: string | null) => {
      clearInterval(ticks)
      resolve()
      if (isOver) return
      isOver = true
      events.onEnd({ code, signal })
    }
    child.on('exit', end)
    child.on('error', () => end(null, null))
  })
  child.on('message', (message: FromChild) => {
    silentTicks = 0
    if (message.kind === 'ready') {
      ticksMax = SILENT_TICKS_MAX
      events.onReady()
    } else if (message.kind === 'outcomes') events.onOutcomes(message.outcomes)
  })

  return {
    pid: child.pid,
    send(tasks) {
      // A message that cannot be written means that the child is ending, which `exit` tells.
      child.send(tasks, () => undefined)
    },
    kill: () => void child.kill('SIGKILL'),
    async close() {
      isOver = true
      child.kill('SIGKILL')
      await exited
    },
  }
}

function withoutUndefined(variables: Record<string, string | undefined>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined))
}
