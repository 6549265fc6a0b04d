// Makes a production build in the benchmark's folder. A worker that runs from its sources would also have the
// bundler in memory.
import { dirname, join } from 'node:path'
import { lastLines, startChild } from '../dev/processes/processes.ts'
import type { Servers } from './servers.ts'

const ROOT = dirname(import.meta.dirname)

/** Runs npm run build without its look at the types. @returns the folder, for `ServiceOptions.dist` */
export async function buildProduction(
  servers: Servers,
  say: (line: string) => void,
): Promise<string> {
  const dist = join(servers.folder.root, 'dist')
  const logFile = servers.folder.log('build')
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
