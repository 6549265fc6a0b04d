// Builds the services as production runs them, once for a run of the tests. They start three times as fast as from their
// sources, since nothing is compiled or bundled at each start.
import { existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordChild } from '../../dev/processes/children.ts'
import { lastLines, startChild } from '../../dev/processes/processes.ts'
import { eventually } from './eventually.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const BUILD_WAIT_MS = 120_000

const pathsOf = (folder: string) => ({
  dist: join(folder, 'dist'),
  fault: join(folder, 'dist.fault'),
})

/** Starts the build in the run's folder. The tests go on meanwhile: only those that start a service wait for it. */
export async function startBuild(folder: string): Promise<void> {
  const { dist, fault } = pathsOf(folder)
  // Built files are modules and find their packages, although they stand outside the project.
  for (const name of ['package.json', 'node_modules']) {
    symlinkSync(join(ROOT, name), join(folder, name))
  }
  const child = await startChild({
    name: 'build',
    command: process.execPath,
    args: ['dev/build.mjs', '--unchecked', '--out', `${dist}.new`],
    cwd: ROOT,
    logFile: join(folder, 'build.log'),
  })
  recordChild(join(folder, 'children'), child, ['SIGKILL'])
  void child.exited.then(({ code }) => {
    if (code === 0) renameSync(`${dist}.new`, dist)
    // A run that ends before its build has removed the folder.
    else if (existsSync(folder)) writeFileSync(fault, lastLines(child.logFile))
  })
}

/**
 * Waits for the build of the run.
 * @returns its folder, as `startService` takes it
 * @throws Error with the compiler's last lines when it failed
 */
export async function builtServices(folder: string): Promise<string> {
  const { dist, fault } = pathsOf(folder)
  const built = () => {
    if (![dist, fault].some((path) => existsSync(path))) throw new Error('the build is not ready')
  }
  await eventually(built, { deadline_ms: BUILD_WAIT_MS })
  if (existsSync(fault)) throw new Error(`the build failed:\n${readFileSync(fault, 'utf8')}`)
  return dist
}
