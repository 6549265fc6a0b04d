// Finds the real Temporal server and its schema tool in the user's cache, or builds them with Go.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lastLines, startChild } from '../dev/processes/processes.ts'
import { cacheFolder } from '../dev/servers/temporalCli.ts'

export const SERVER_VERSION = '1.32.0'
const MODULES = ['cmd/server', 'cmd/tools/sql'].map(
  (path) => `go.temporal.io/server/${path}@v${SERVER_VERSION}`,
)
const PROGRESS_MS = 15_000
const BUILD_WAIT_MS = 30 * 60_000

export interface TemporalBinaries {
  server: string
  sqlTool: string
}

/** @throws Error if Go is missing or fails; its message names `--temporal dev` as the alternative */
export async function findTemporalBinaries(
  env: Record<string, string | undefined>,
  say: (line: string) => void,
): Promise<TemporalBinaries> {
  const folder = join(cacheFolder(env), `temporal-server-${SERVER_VERSION}`)
  const found = {
    server: join(folder, 'temporal-server'),
    sqlTool: join(folder, 'temporal-sql-tool'),
  }
  if (existsSync(found.server) && existsSync(found.sqlTool)) return found
  try {
    await build(folder, found, env, say)
  } catch (err) {
    const text = err instanceof Error ? err.message : String(err)
    throw new Error(`The Temporal server cannot be built (${text}); --temporal dev does without it`)
  }
  return found
}

async function build(
  folder: string,
  target: TemporalBinaries,
  env: Record<string, string | undefined>,
  say: (line: string) => void,
): Promise<void> {
  const unfinished = `${folder}.build-${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  const logFile = `${unfinished}.log`
  const begin = Date.now()
  const seconds = () => Math.round((Date.now() - begin) / 1000)
  say(`building the Temporal server ${SERVER_VERSION} with Go: once, some minutes`)
  const progress = setInterval(() => say(`building it, ${seconds()} s`), PROGRESS_MS)
  try {
    const child = await startChild({
      name: 'go install',
      command: 'go',
      args: ['install', '-v', ...MODULES],
      logFile,
      cwd: unfinished,
      env: { ...env, GOBIN: unfinished, GOFLAGS: '', GOWORK: 'off' },
    })
    const limit = setTimeout(() => void child.kill(), BUILD_WAIT_MS)
    const { code } = await child.exited
    clearTimeout(limit)
    if (code !== 0) throw new Error(lastLines(logFile, 5))
    mkdirSync(folder, { recursive: true })
    renameSync(join(unfinished, 'server'), target.server)
    renameSync(join(unfinished, 'sql'), target.sqlTool)
    say(`built in ${seconds()} s, kept in ${folder}`)
  } finally {
    clearInterval(progress)
    rmSync(unfinished, { recursive: true, force: true })
    rmSync(logFile, { force: true })
  }
}
