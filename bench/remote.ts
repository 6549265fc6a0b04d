// Calls functions in a separate process, so that the load has an event loop of its own.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * The functions of a process. Each takes one object and returns one; the input type `never` accepts all of them.
 */
export type Handlers = Record<string, (input: never) => Promise<unknown>>

export interface Remote<H extends Handlers> {
  pid: number
  call<K extends keyof H & string>(
    name: K,
    input: Parameters<H[K]>[0],
  ): Promise<Awaited<ReturnType<H[K]>>>
  stop(): Promise<void>
}

interface Call {
  id: number
  name: string
  input: unknown
}

interface Answer {
  id: number
  result?: unknown
  error?: string
}

/**
 * Node 24 reads TypeScript itself, as in production no loader runs: tsx wraps each closure to keep its name, which would distort what is
 * measured here. It is used on an older Node alone.
 */
const loaderArgs = Reflect.get(process.features, 'typescript')
  ? []
  : ['--enable-source-maps', '--import', 'tsx']

/** Forks a file of this folder that calls `serve`. The child always ends when this process ends. @param env variables that are set for it */
export function startRemote<H extends Handlers>(
  file: string,
  env: Record<string, string> = {},
): Remote<H> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, [], {
    execArgv: loaderArgs,
    env: { ...process.env, ...env },
    serialization: 'advanced',
    // Its output goes to stderr, because stdout has only the JSON document.
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let serial = 0
  child.on('message', (message) => {
    const answer = message as Answer
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  let ended: string | undefined
  const exited = new Promise<void>((resolve) => {
    const end = (error: string) => {
      ended ??= error
      for (const [id, settle] of waiting) settle({ id, error: ended })
      waiting.clear()
      resolve()
    }
    child.once('exit', (code, signal) => end(`${file} ended (${signal ?? code})`))
    child.on('error', (err) => {
      // Of one that was not started nothing else comes; what is sent to one that has ended is answered by its exit.
      if (child.pid === undefined) end(`${file} was not started: ${err.message}`)
    })
  })
  return {
    pid: child.pid ?? 0,
    call(name, input) {
      if (ended !== undefined) return Promise.reject(new Error(ended))
      serial += 1
      const call: Call = { id: serial, name, input }
      return new Promise((resolve, reject) => {
        waiting.set(call.id, ({ result, error }) => {
          if (error !== undefined) reject(new Error(error))
          else resolve(result as Awaited<ReturnType<H[typeof name]>>)
        })
        child.send(call)
      })
    },
    async stop() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}

/**
 * In the forked process: answers calls, several at a time if they come so, and exits when the parent disconnects.
 */
export function serve(handlers: Handlers): void {
  process.on('disconnect', () => process.exit(0))
  process.on('message', async (message) => {
    const { id, name, input } = message as Call
    const answer: Answer = { id }
    try {
      const handler = handlers[name]
      if (!handler) throw new Error(`no handler ${name}`)
      answer.result = await handler(input as never)
    } catch (err) {
      answer.error = err instanceof Error ? (err.stack ?? err.message) : String(err)
    }
    if (process.connected) process.send?.(answer)
  })
}
