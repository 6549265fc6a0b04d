// A shell that stays open, as a reader's does: what one example exports, the next one finds.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const END = '@@end'
const RUN_WAIT_MS = 30_000

export interface ShellResult {
  /** Of stdout. */
  output: string
  /** Of stderr, without what curl was told to write there. */
  errors: string
  /** Exit code of the last command. */
  code: number
  /** The status of each answer that curl had, in order. */
  statuses: number[]
}

/**
 * Opens `sh` in a folder. curl is the real one; a `.curlrc` of the folder has it write each status to stderr.
 * @param env over our own; a variable that is undefined is taken away
 */
export function openShell(folder: string, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(join(folder, '.curlrc'), 'write-out = "%{stderr}@@status %{http_code}\\n"\n')
  const child = spawn('sh', [], { cwd: folder, env: { ...process.env, CURL_HOME: folder, ...env } })
  let output = ''
  let errors = ''
  let wake: () => void = () => undefined
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    wake()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
    wake()
  })

  return {
    /** Runs lines as if they were typed. @throws Error when they do not come to an end within 30 s */
    async run(text: string): Promise<ShellResult> {
      output = ''
      errors = ''
      child.stdin.write(`${text}\nprintf '\\n${END} %d\\n' $?\nprintf '\\n${END}\\n' >&2\n`)
      const ended = () => output.includes(END) && errors.includes(END)
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Error(`the shell does not come to an end of:\n${text}\n${output}\n${errors}`))
        }, RUN_WAIT_MS)
        wake = () => {
          if (!ended()) return
          clearTimeout(timer)
          resolve()
        }
        wake()
      })
      const [shown = '', code = ''] = output.split(`\n${END} `)
      const [said = ''] = errors.split(`\n${END}`)
      return {
        output: shown,
        errors: said.replace(/@@status \d+\n?/g, ''),
        code: Number(code),
        statuses: [...said.matchAll(/@@status (\d+)/g)].map(([, status]) => Number(status)),
      }
    },
    close: () => void child.kill('SIGKILL'),
  }
}

export type Shell = ReturnType<typeof openShell>
