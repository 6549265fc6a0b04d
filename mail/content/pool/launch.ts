// How the child process and its threads are started: from what was built for production, or from the sources.
import { type ForkOptions, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

const here = import.meta.url
const isSource = here.endsWith('.ts')
const entry = (name: 'process' | 'thread') => new URL(`./${name}.${isSource ? 'ts' : 'js'}`, here)
/** The file of tsx, which is there when the service runs from its sources. */
const tsx = () => createRequire(here).resolve('tsx')

/** Starts `process.ts`. */
export function forkProcess(options: ForkOptions) {
  const execArgv = isSource ? ['--import', pathToFileURL(tsx()).href] : []
  return fork(fileURLToPath(entry('process')), [], { ...options, execArgv })
}

/** Starts `thread.ts`. */
export function startThread(options: WorkerOptions): Worker {
  if (!isSource) return new Worker(entry('thread'), options)
  bundled ??= bundle()
  return new Worker(bundled, { ...options, eval: true })
}

/** `thread.ts` and all that it imports, as one script. */
let bundled: string | undefined

/** What the compiler of tsx is asked for here. */
interface Compiler {
  buildSync(options: object): { outputFiles: { text: string }[] }
}

/** tsx does not reach into threads, and loading the sources in each of them would take a second. */
function bundle(): string {
  const { buildSync } = createRequire(tsx())('esbuild') as Compiler
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(entry('thread'))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
  })
  return outputFiles.map(({ text }) => text).join('')
}
