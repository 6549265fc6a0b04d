// A process lowers the priority of all its threads, and never raises one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const priority = fileURLToPath(new URL('../../../runtime/priority.ts', import.meta.url))

/** The nice values of all threads of a process that has called `lowerPriority` with each of these. */
async function niceAfter(...values: number[]): Promise<number[]> {
  const script = `
    import { readdirSync } from 'node:fs'
    import { getPriority } from 'node:os'
    import { Worker } from 'node:worker_threads'
    import { lowerPriority } from ${JSON.stringify(priority)}
    for (const nice of ${JSON.stringify(values)}) lowerPriority(nice)
    const thread = new Worker('setInterval(() => {}, 1000)', { eval: true })
    thread.once('online', () => {
      console.log(JSON.stringify(readdirSync('/proc/self/task').map((id) => getPriority(Number(id)))))
      process.exit()
    })`
  const args = ['--import', 'tsx', '--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await once(child, 'close')
  return JSON.parse(said) as number[]
}

test('threads that stand and threads that begin later have the priority', async () => {
  const found = await niceAfter(7)
  expect(found.length).toBeGreaterThan(2)
  expect(new Set(found)).toEqual(new Set([7]))
})

test('a lower priority stays', async () => {
  expect(new Set(await niceAfter(9, 3))).toEqual(new Set([9]))
})
