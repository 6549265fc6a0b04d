// Checks whether this machine's Go can build the Temporal CLI, and says what to do if it cannot.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The Go version that the go.mod of the CLI requires. */
const WANTED = [1, 25] as const
/** From this version on Go downloads a newer Go if a module requires it. */
const FETCHES_GO = [1, 21] as const
/** Measured sizes of the sources, of the compiled packages with the program, and of the linker's files. */
const SOURCES_MB = 1_800
const COMPILED_MB = 1_400
const WORK_MB = 500
const OTHERS =
  'or put the Temporal CLI on PATH, or set TEMPORAL_ADDRESS=host:7233 to a server that runs'

export interface Go {
  /** For example 1.26.8. */
  version: string
  /** True if it must not download another version of Go. */
  isFixed: boolean
  /** The folders of its sources, compiled packages and temporary files. */
  sources: string
  compiled: string
  work: string
}

type Env = Record<string, string | undefined>

/** Finds the Go on PATH; undefined if there is none. */
export function readGo(env: Env): Go | undefined {
  const names = ['GOVERSION', 'GOTOOLCHAIN', 'GOMODCACHE', 'GOCACHE', 'GOTMPDIR']
  const { status, stdout } = spawnSync('go', ['env', ...names], { encoding: 'utf8', env, cwd: '/' })
  if (status !== 0) return undefined
  const [version = '', toolchain, sources = '', compiled = '', work] = stdout.split('\n')
  return {
    version: version.replace(/^go/, ''),
    isFixed: toolchain === 'local' || !isAtLeast(version.replace(/^go/, ''), FETCHES_GO),
    sources,
    compiled,
    work: work || env['TMPDIR'] || '/tmp',
  }
}

/**
 * Why Go cannot build the CLI, in one sentence with the next step; undefined if it can.
 * @param freeDisk_mb free space of the disk of a folder
 * @param fault why the download of a server failed
 */
export function goProblem(
  go: Go | undefined,
  freeDisk_mb: (folder: string) => number,
  fault: string,
): string | undefined {
  const none = noServer(fault)
  const wanted = WANTED.join('.')
  if (!go) {
    return `${none}, and Go, which could build one, is not installed: install Go ${wanted} or newer, ${OTHERS}.`
  }
  if (go.isFixed && !isAtLeast(go.version, WANTED)) {
    return `${none}, and Go ${go.version} is too old to build one: install Go ${wanted} or newer, ${OTHERS}.`
  }
  const short = spaceProblem(go, freeDisk_mb)
  return short && `${none}, and ${short}, ${OTHERS}.`
}

/** A build that was tried and failed, as one sentence; the lines of Go come below it. */
export function buildProblem(go: Go, buildFault: string, fault: string): string {
  return `${noServer(fault)}, and building one with Go ${go.version} failed (${buildFault}): see that the network is there and start again, ${OTHERS}.`
}

const noServer = (fault: string) =>
  `There is no Temporal server on this machine, none can be downloaded (${fault})`

/** Checks the disk space. Folders on one disk share its space, and sources that were fetched before need none. */
function spaceProblem(go: Go, freeDisk_mb: (folder: string) => number): string | undefined {
  const hasSources = existsSync(join(go.sources, 'cache', 'download', 'go.temporal.io', 'server'))
  const needs = [
    { folder: go.sources, variable: 'GOMODCACHE', mb: hasSources ? 0 : SOURCES_MB },
    { folder: go.compiled, variable: 'GOCACHE', mb: COMPILED_MB },
    { folder: go.work, variable: 'TMPDIR', mb: WORK_MB },
  ]
  for (const { folder, variable, mb } of needs) {
    const free_mb = freeDisk_mb(folder)
    // Folders whose disks have the same free space count as one disk.
    const together = needs.filter((other) => freeDisk_mb(other.folder) === free_mb)
    const needed_mb = together.reduce((sum, other) => sum + other.mb, 0)
    if (mb > 0 && free_mb < needed_mb) {
      return `building one takes ${needed_mb} MB of disk where ${folder} has ${free_mb} MB: make room, or set ${variable} to a folder on another disk`
    }
  }
  return undefined
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}
