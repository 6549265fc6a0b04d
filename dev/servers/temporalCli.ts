// Finds the Temporal CLI, which has a development server. Downloads or builds it if there is none.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Part } from '../console.mjs'
import { freeDisk_mb } from '../processes/readings.ts'
import { goBuild, removeUnfinished } from './goBuild.ts'
import { buildProblem, goProblem, readGo } from './goToolchain.ts'
import { downloadServer, sdkFile } from './temporalDownload.ts'

const CLI_VERSION = '1.5.1'

type Env = Record<string, string | undefined>

/** The project's folder in the user's cache; `DRIPLINE_CACHE` names another one. */
export function cacheFolder(env: Env): string {
  if (env['DRIPLINE_CACHE']) return env['DRIPLINE_CACHE']
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'dripline')
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dripline')
}

/**
 * The path of a working Temporal CLI: `TEMPORAL_CLI_PATH`, then `temporal` on PATH, then the project's cache, then
 * the SDK's cached download, then a new download, then a build with Go into the project's cache.
 * @throws Error with one sentence that says what is missing and what to do
 */
export async function findTemporalCli(env: Env, part: Part): Promise<string> {
  const given = env['TEMPORAL_CLI_PATH']
  if (given) {
    if (runs(given)) return given
    throw new Error(
      `TEMPORAL_CLI_PATH is ${given}, which is not a Temporal CLI that runs: name the file temporal itself, or unset the variable.`,
    )
  }
  const cache = cacheFolder(env)
  const cached = join(cache, `temporal-cli-${CLI_VERSION}`, 'temporal')
  const sdkFolder = join(cache, 'sdk')
  const ready = [...onPath(env), cached, sdkFile(tmpdir()), sdkFile(sdkFolder)].find(runs)
  if (ready) return ready
  part.say(
    'no Temporal server on this machine yet: trying a download, which only a first start does',
  )
  let fault: string
  try {
    const path = await downloadServer(sdkFolder, part)
    if (runs(path)) return path
    fault = `${path} does not run`
  } catch (err) {
    fault = err instanceof Error ? err.message : String(err)
  }
  return build(cached, env, part, fault)
}

function onPath(env: Env): string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, 'temporal'))
}

function runs(path: string): boolean {
  if (!existsSync(path)) return false
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 20_000 })
  return status === 0 && /temporal version/i.test(stdout)
}

/** Builds the CLI with Go, which fetches the sources, and keeps the binary in the cache. */
async function build(target: string, env: Env, part: Part, fault: string): Promise<string> {
  const go = readGo(env)
  const problem = goProblem(go, freeDisk_mb, fault)
  if (problem !== undefined || go === undefined) throw new Error(problem)
  removeUnfinished(dirname(dirname(target)))
  const folder = `${dirname(target)}.build-${process.pid}`
  const begin = Date.now()
  part.say(
    `none can be downloaded from here, so Go ${go.version} builds it: once for this machine, about three minutes`,
  )
  try {
    const output = join(folder, 'temporal')
    const module = 'github.com/temporalio/cli'
    const version = `v${CLI_VERSION}`
    const options = { module, version, main: './cmd/temporal', output, folder, env }
    await goBuild(options, part).catch((err: Error) => {
      const [first, ...lines] = err.message.split('\n')
      throw new Error([buildProblem(go, first ?? '', fault), ...lines].join('\n'), { cause: err })
    })
    mkdirSync(dirname(target), { recursive: true })
    // A rename, so that two concurrent builds leave one complete binary.
    renameSync(output, target)
    part.say(`built in ${Math.round((Date.now() - begin) / 1000)} s, kept as ${target}`)
    part.say(
      'Go keeps some 3 GB that it needed for this; go clean -cache -modcache empties its caches',
    )
    return target
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
