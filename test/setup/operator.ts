// Runs a command of an operator as it is built, which starts in a third of the time that its source takes.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { inject } from 'vitest'
import { builtServices } from './built.ts'

export interface CommandOutput {
  code: number
  stdout: string
  stderr: string
}

/**
 * Runs operate/<name>.ts with these words and variables (and no others but PATH), and waits until it ends.
 * @param name without its ending, as `limits`
 */
export async function runOperator(
  name: string,
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandOutput> {
  const dist = await builtServices(inject('runFolder'))
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(dist, 'operate', `${name}.js`), ...words],
      { env: { PATH: process.env['PATH'], ...env } },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}
