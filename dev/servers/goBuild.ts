// Builds a program from a Go module and reports progress: modules fetched, source compiled, time left.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Part } from '../console.mjs'
import { telling } from '../processes/endOf.ts'
import { isAlive, startChild } from '../processes/processes.ts'

const POLL_MS = 500
/** A slow machine may take an hour in all, but no single package or module takes this long. */
const SILENCE_MAX_MS = 10 * 60_000
/** Before this share is compiled, the remaining time is not reported. */
const SHARE_MIN = 0.05
const SETTLED_MS = 10_000
const LINES_SHOWN = 5

export interface GoBuild {
  /** For example `github.com/temporalio/cli`. */
  module: string
  /** For example `v1.5.1`. */
  version: string
  /** Path of the program inside the module, for example `./cmd/temporal`. */
  main: string
  /** The file that is written. */
  output: string
  /** Folder for Go's output during the build. The function makes it, the caller removes it. */
  folder: string
  env: Record<string, string | undefined>
}

/** A package to compile, and the size of its source. */
export interface GoPackage {
  path: string
  bytes: number
}

/**
 * Fetches the module and its dependencies, and builds its program.
 * @throws Error with the last lines of Go's output
 */
export async function goBuild(build: GoBuild, part: Part): Promise<void> {
  mkdirSync(build.folder, { recursive: true })
  const { module, version, main, output } = build
  const begin = Date.now()
  const passed = () => Math.round((Date.now() - begin) / 1000)
  try {
    part.progress('fetching its sources')
    const fetched = await go(build, 'fetch', ['mod', 'download', '-json', `${module}@${version}`])
    const source = sourceFolderIn(fetched)
    const modules = countModules(readFileSync(join(source, 'go.mod'), 'utf8'))
    const format = '{{if .Stale}}package {{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles "\t"}}{{end}}'
    const listed = await go(build, 'list', ['list', '-deps', '-f', format, main], source, (log) => {
      const n = log.match(/^go: downloading /gm)?.length ?? 0
      if (n > 0) part.progress(`fetching sources, ${n} of about ${modules} modules, ${passed()} s`)
    })
    const packages = packagesOf(listed)
    const compiling = Date.now()
    await go(build, 'build', ['build', '-v', '-o', output, main], source, (log) => {
      part.progress(compileProgress(packages, startedIn(log), Date.now() - compiling, passed()))
    })
  } finally {
    part.done()
  }
}

/** The folder of a module, from what `go mod download -json` printed. Lines about a newer Go may come before it. */
export function sourceFolderIn(printed: string): string {
  const { Dir: folder } = JSON.parse(printed.slice(printed.search(/^\{/m))) as { Dir: string }
  return folder
}

/** Runs a Go command. `watch` gets the whole output so far, twice a second. @returns the output */
async function go(
  { folder, env }: GoBuild,
  name: string,
  args: string[],
  cwd = folder,
  watch: (log: string) => void = () => undefined,
): Promise<string> {
  const logFile = join(folder, `${name}.log`)
  rmSync(logFile, { force: true })
  const child = await startChild({
    name: `go ${name}`,
    command: 'go',
    args,
    logFile,
    cwd,
    env: { ...env, GOFLAGS: '-buildvcs=false', GOWORK: 'off' },
  })
  let log = ''
  let said_ms = Date.now()
  while (child.alive()) {
    await Promise.race([child.exited, pause(POLL_MS)])
    const before = log.length
    log = readFileSync(logFile, 'utf8')
    if (log.length > before) said_ms = Date.now()
    watch(log)
    if (Date.now() - said_ms > SILENCE_MAX_MS) {
      await child.kill()
      throw new Error(`go ${args[0]} said nothing for ${SILENCE_MAX_MS / 60_000} minutes`)
    }
  }
  const { code } = await child.exited
  if (code === 0) return log
  throw new Error(`go ${args[0]} ended with an error\n${faultIn(log)}`)
}

/** What Go said last, or the error in its JSON. */
function faultIn(log: string): string {
  const inJson = /"Error": (".*")/.exec(log)?.[1]
  const lines = inJson ? [JSON.parse(inJson) as string] : telling(log).slice(-LINES_SHOWN)
  return lines.map((line) => `    ${line}`).join('\n')
}

/** The number of modules in a go.mod. */
export function countModules(goMod: string): number {
  return goMod.match(/^(require )?\s*[\w.-]+\.[\w.-]+\/\S+ v\S+/gm)?.length ?? 0
}

/** Parses the output of `go list` for packages that are not in Go's cache. */
export function packagesOf(listed: string): GoPackage[] {
  return listed.split('\n').flatMap((line) => {
    const [path = '', folder = '', ...files] = line.replace(/^package /, '').split('\t')
    if (!line.startsWith('package ')) return []
    const names = files.filter((file) => file !== '')
    const sizes = names.map((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size)
    return [{ path, bytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0) }]
  })
}

function startedIn(log: string): Set<string> {
  return new Set(log.split('\n').slice(0, -1))
}

/**
 * The compiled share, by bytes of source, because packages differ in size by a factor of a thousand. Go prints a
 * package when it starts to compile it, so the last printed ones do not count yet.
 */
export function compileProgress(
  packages: GoPackage[],
  started: ReadonlySet<string>,
  compiling_ms: number,
  passed_s: number,
  parallel = availableParallelism(),
): string {
  const all = packages.reduce((sum, { bytes }) => sum + bytes, 0)
  const begun = packages.filter(({ path }) => started.has(path))
  if (packages.length === begun.length) return `building: all compiled, linking, ${passed_s} s`
  const running = new Set([...started].slice(-parallel))
  const done = begun.filter(({ path }) => !running.has(path))
  const share = done.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, all)
  const counted = `${begun.length} of ${packages.length} packages`
  const isSettled = share > SHARE_MIN && compiling_ms > SETTLED_MS
  const left = isSettled ? `, ${inWords((compiling_ms * (1 - share)) / share)} left` : ''
  return `building: ${Math.floor(share * 100)}%, ${counted}, ${passed_s} s${left}`
}

/** A rounded time, for example "about 2 minutes". */
function inWords(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (ms < 30_000) return 'less than half a minute'
  if (ms < 90_000) return 'about a minute'
  return `about ${minutes} minutes`
}

/** Removes folders `<name>.build-<pid>` of killed builds. */
export function removeUnfinished(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const pid = Number(/\.(?:build|new)-(\d+)/.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) rmSync(join(folder, name), { recursive: true, force: true })
  }
}
