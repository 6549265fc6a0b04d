// A thread that renders emails: started by `process.ts`, which ends it when a render takes too long.
import { parentPort, workerData } from 'node:worker_threads'
import { partNames, renderEmail } from '../template.ts'
import type { RenderJob } from './messages.ts'
import type { ThreadState } from './threads.ts'

const { begun, part } = workerData as ThreadState

parentPort?.on('message', (job: string) => {
  Atomics.store(begun, 0, process.hrtime.bigint())
  const { parts, scope } = JSON.parse(job) as RenderJob
  const result = renderEmail(parts, scope, (name) => {
    Atomics.store(part, 0, partNames.indexOf(name))
  })
  Atomics.store(begun, 0, 0n)
  parentPort?.postMessage(JSON.stringify(result))
})
