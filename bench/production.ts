// Builds what production runs, into the benchmark's own folder: run from its sources a worker also holds the bundler.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { lastLines, startChild } from '../dev/processes.ts'
import type { Servers } from './servers.ts'

const ROOT = dirname(import.meta.dirname)

/** The steps of npm run build. @returns the folder, for `ServiceOptions.dist` */
export async function buildProduction(
  servers: Servers,
  say: (line: string) => void,
): Promise<string> {
  const dist = join(servers.folder.root, 'dist')
  const logFile = servers.folder.log('build')
  say('building what production runs, about half a minute')
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const child = await startChild({
    name: 'tsc',
    command: process.execPath,
    args: [tsc, '-p', 'tsconfig.build.json', '--outDir', dist],
    cwd: ROOT,
    logFile,
  })
  const { code } = await child.exited
  if (code !== 0) throw new Error(`the build failed:\n${lastLines(logFile)}`)
  const bundle = await bundleWorkflowCode({
    workflowsPath: join(ROOT, 'workflows', 'index.ts'),
    logger: new DefaultLogger('WARN'),
  })
  writeFileSync(join(dist, 'workflows.bundle.js'), bundle.code)
  return dist
}
