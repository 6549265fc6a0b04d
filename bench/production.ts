// Makes a production build in the benchmark's folder. From its sources a worker would have the bundler in memory too, and each
// closure would cost what tsx adds to keep its name.
import { dirname, join } from 'node:path'
import { lastLines, startChild } from '../dev/processes/processes.ts'
import type { DevFolder } from '../dev/start/folder.ts'

const ROOT = dirname(import.meta.dirname)

/** Runs npm run build without its look at the types. @returns the folder of what was built */
export async function buildProduction(
  folder: DevFolder,
  say: (line: string) => void,
): Promise<string> {
  const dist = join(folder.root, 'dist')
  const logFile = folder.log('build')
  say('building what production runs')
  const child = await startChild({
    name: 'build',
    command: process.execPath,
    args: ['dev/build.mjs', '--unchecked', '--out', dist],
    cwd: ROOT,
    logFile,
  })
  const { code } = await child.exited
  if (code !== 0) throw new Error(`the build failed:\n${lastLines(logFile)}`)
  return dist
}
