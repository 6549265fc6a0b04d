// A thread that renders emails: started by `process.ts`, which ends it when a render takes too long.
import { parentPort, workerData } from 'node:worker_threads'
import { limits, MEBIBYTE } from '../../../rules/limits.ts'
import { boundKept } from '../parsed.ts'
import { partNames, renderEmail } from '../template.ts'
import type { RenderJob, RenderResult } from './messages.ts'
import { currentTask, type ThreadState } from './times.ts'

/** What this thread keeps of parsed templates: little of its memory, and enough for most of the templates in use. */
const KEPT_BYTES_MAX = 4 * MEBIBYTE

const TEXT_CHARS_MAX = 64 * 1024

const { begun, part, task } = workerData as ThreadState
Atomics.store(task, 0, currentTask())
boundKept(KEPT_BYTES_MAX)

parentPort?.on('message', (job: string) => {
  Atomics.store(begun, 0, process.hrtime.bigint())
  const { parts, scope } = JSON.parse(job) as RenderJob
  const result = renderEmail(parts, scope, {
    bytesMax: limits.renderedBytesMax,
    onPart: (name) => void Atomics.store(part, 0, partNames.indexOf(name)),
  })
  Atomics.store(begun, 0, 0n)
  const text = JSON.stringify(result)
  // The email, or its JSON when that is up to 64 Ki characters: short JSON is the fastest to send, while long JSON would
  // hold up the parent that parses it, and takes six bytes for some characters.
  const sent: RenderResult = text.length > TEXT_CHARS_MAX ? result : text
  parentPort?.postMessage(sent)
})
