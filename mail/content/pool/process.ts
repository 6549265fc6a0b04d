// The child process of a renderer: its threads render the templates of strangers, at a low priority. `child.ts` starts it.
import { getPriority, setPriority } from 'node:os'
import { FIRST_SLOTS, type FromChild, isSecondSlot, type Outcome, type Task } from './messages.ts'
import { createSlot, createThreads, killProcess } from './threads.ts'

/** How late a render past its time is noticed at most. */
const CHECK_MS = 25
const ALIVE_MS = 1_000

/** One customer's slow templates must not delay everybody's mail: each of their threads would weigh as much as the worker's main thread. */
const LOWEST_PRIORITY = 19

// Threads that are started from here on have the same priority.
if (getPriority() < LOWEST_PRIORITY) setPriority(LOWEST_PRIORITY)
// A terminal or a supervisor may send its signal to all processes of the group. Only the parent acts on it, since it still
// needs this process for the requests that it has taken, and ends it afterwards.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined)
// An orderly exit would wait for a thread inside a long call.
process.on('disconnect', killProcess)
// A parent that ended while the modules were loaded has been missed: nobody listened yet.
if (!process.connected) killProcess()

const send = (message: FromChild) =>
  void process.send?.(message, undefined, undefined, () => undefined)

let outcomes: Outcome[] = []
function report(outcome: Outcome): void {
  if (outcomes.length === 0) {
    // What ends in the same turn goes in one message.
    setImmediate(() => {
      send({ kind: 'outcomes', outcomes })
      outcomes = []
    })
  }
  outcomes.push(outcome)
}

const threads = createThreads()
const slots = Array.from({ length: FIRST_SLOTS + 1 }, (_, slot) =>
  createSlot(threads, report, isSecondSlot(slot)),
)
// With a spare behind it; the others start when they are needed.
slots[0]?.warm()

process.on('message', (tasks: Task[]) => {
  for (const task of tasks) slots[task.slot]?.run(task)
})
setInterval(() => {
  for (const slot of slots) slot.check()
}, CHECK_MS)
setInterval(() => send({ kind: 'alive' }), ALIVE_MS)
send({ kind: 'ready' })
