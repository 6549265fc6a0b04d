// A process with a watchdog for tests: it works under a mark as its first argument says, and writes a line when it does.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createWatchdog } from '../../runtime/watchdog/watchdog.ts'
import type { WatchedThread } from './watchedThread.ts'

const [how = '', folder = ''] = process.argv.slice(2)
let ready = () => {}
const isReady = new Promise<void>((resolve) => {
  ready = resolve
})
const deaths = new Int32Array(new SharedArrayBuffer(4))
if (how === 'thread-ends') deaths[0] = 1
const watchdog = createWatchdog<WatchedThread>({
  folder,
  service: 'test',
  thread: new URL('./watchedThread.ts', import.meta.url),
  more: { deaths },
  limits: { stall_ms: 500, end_ms: 1_500 },
  onMessage: () => ready(),
  onError: (err) => process.stderr.write(`${String(err)}\n`),
})
const mark = { kind: 'segment', id: `exec_${how}`, step: '', alone: how === 'stall-alone' } as const
/** Keeps the main thread busy. */
function spin(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const stall = () =>
  watchdog.during(mark, (entering) => {
    entering('first')
    entering('heavy')
    spin(600_000)
  })

const ways: Record<string, () => Promise<unknown> | unknown> = {
  /** Never comes back. */
  'stall-alone': stall,
  /** Never comes back, after its first thread has ended. */
  'thread-ends': stall,
  /** Never comes back, and its state file was removed. */
  removed: () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
    stall()
  },
  /** Comes back late. */
  late: () => watchdog.during(mark, () => spin(1_000)),
  /** Ends within the work, as a process without memory does. */
  dies: () => watchdog.during(mark, () => process.kill(process.pid, 'SIGKILL')),
  /** Has worked, and waits. */
  waits: async () => {
    watchdog.during(mark, () => undefined)
    process.stdout.write('waiting\n')
    await pause(600_000)
  },
  /** Works without a mark for longer than any limit. */
  unmarked: () => spin(2_500),
  /** Many pieces of work, none of which is long. */
  busy: () => {
    for (let n = 0; n < 25; n++) watchdog.during(mark, () => spin(100))
  },
  throws: () => {
    try {
      watchdog.during(mark, () => {
        throw new Error('a fault of the work')
      })
    } catch {
      process.kill(process.pid, 'SIGKILL')
    }
  },
  ends: () => watchdog.during(mark, () => undefined),
}

// The thread keeps no process alive.
const waiting = setInterval(() => undefined, 1_000)
await isReady
clearInterval(waiting)
process.stdout.write(`started ${watchdog.identity.run}\n`)
await ways[how]?.()
// Whoever stalled is told by the thread before the process ends.
await pause(500)
await watchdog.close()
