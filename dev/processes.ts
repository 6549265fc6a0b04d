// Starts, recognises and stops operating-system processes: the base of everything in dev/ and test/setup.
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const LOG_BYTES_MAX = 20 * 1024 * 1024
const TAIL_BYTES = 64 * 1024
const POLITE: NodeJS.Signals[] = ['SIGTERM']

interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A child that runs in a process group of its own and logs into a file. */
export interface Child {
  name: string
  pid: number
  logFile: string
  /** Resolves when the child has ended, for whatever reason; never rejects. */
  exited: Promise<Exit>
  alive(): boolean
  /** Sends the signals one after the other, each time waiting for the end; SIGKILL comes last. */
  stop(options?: StopOptions): Promise<void>
  /** SIGKILL for the whole group. */
  kill(): Promise<void>
  /** One signal to the child's group (SIGSTOP, SIGCONT, ...). */
  signal(signal: NodeJS.Signals): void
}

interface StopOptions {
  /** The polite signals, SIGTERM when absent. */
  signals?: NodeJS.Signals[]
  /** Patience after each signal. */
  wait_ms?: number
}

export interface SpawnOptions {
  name: string
  command: string
  args: string[]
  logFile: string
  /** Over our own environment; undefined takes a variable away. */
  env?: NodeJS.ProcessEnv
  /** Variables of our own that the child must not hear of. */
  hiddenEnv?: RegExp
  cwd?: string
  uid?: number
  gid?: number
}

const children = new Set<Child>()
let refusing = false

/** Ends every child of this process at once, and lets none start from now on. */
export async function killAllChildren(): Promise<void> {
  refusing = true
  await Promise.all([...children].map((child) => child.kill()))
}

/**
 * Starts a child in its own process group, with its output going straight into `logFile`: a child whose
 * parent was killed keeps a valid output, and Ctrl-C in a terminal reaches it only through us.
 */
export async function startChild(options: SpawnOptions): Promise<Child> {
  if (refusing) throw new Error(`${options.name}: not started, everything is being stopped`)
  rotate(options.logFile)
  const log = openSync(options.logFile, 'a')
  const { uid, gid } = options
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...inherited(options.hiddenEnv), ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
  })
  closeSync(log)
  let ended = false
  const exited = new Promise<Exit>((resolve) => {
    const end = (exit: Exit) => {
      ended = true
      resolve(exit)
    }
    child.once('exit', (code, signal) => end({ code, signal }))
    child.once('error', () => end({ code: 127, signal: null }))
  })
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', (err) => reject(new Error(`${options.name}: ${err.message}`)))
    child.once('spawn', () => resolve(child.pid ?? 0))
  })
  const signal = (name: NodeJS.Signals) => {
    if (!ended) signalGroup(pid, name)
  }
  const handle: Child = {
    name: options.name,
    pid,
    logFile: options.logFile,
    exited,
    alive: () => !ended,
    signal,
    async stop({ signals = POLITE, wait_ms = 10_000 }: StopOptions = {}) {
      for (const name of [...signals, 'SIGKILL' as NodeJS.Signals]) {
        signal(name)
        // A stopped process cannot end before it goes on.
        if (name === 'SIGTERM') signal('SIGCONT')
        if (await endsWithin(exited, wait_ms)) return
      }
    },
    async kill() {
      signal('SIGKILL')
      await exited
    },
  }
  children.add(handle)
  void exited.then(() => children.delete(handle))
  return handle
}

function inherited(hidden?: RegExp): NodeJS.ProcessEnv {
  const own = process.env
  if (!hidden) return own
  return Object.fromEntries(Object.entries(own).filter(([name]) => !hidden.test(name)))
}

async function endsWithin(exited: Promise<Exit>, wait_ms: number): Promise<boolean> {
  const timer = new AbortController()
  const ended = await Promise.race([
    exited.then(() => true),
    pause(wait_ms, false, { signal: timer.signal }).catch(() => false),
  ])
  timer.abort()
  return ended
}

/** One signal to a process group, or to the single process where there is no such group. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, signal)
      return
    } catch {
      // No such group: the process itself, or nothing, is left.
    }
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'EPERM'
  }
  return !isZombie(pid)
}

function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/**
 * When the process started, as text that only has to compare equal: a pid that was given to another
 * process since has another one. `undefined` when there is no such process.
 */
export function startTimeOf(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined
  // Field 22 of /proc/<pid>/stat: jiffies since the system's start.
  if (existsSync('/proc/self/stat')) return statFields(pid)?.[19]
  const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  return ps.stdout.trim() || undefined
}

/** What follows the name in /proc/<pid>/stat; the name may hold spaces and ends with the last parenthesis. */
function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** The command line of a process, or "". */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? ''
  }
}

/** The pid of a process's parent, undefined when it is gone. */
export function parentOf(pid: number): number | undefined {
  const known = statFields(pid)?.[1]
  if (known !== undefined) return Number(known)
  const ps = spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' })
  return Number(ps.stdout) || undefined
}

/** Waits until a process that is not our child is gone. @returns false when it is still there */
export async function waitGone(pid: number, wait_ms: number): Promise<boolean> {
  const deadline = Date.now() + wait_ms
  while (isAlive(pid)) {
    if (Date.now() > deadline) return false
    await pause(50)
  }
  return true
}

/** The last lines of a log file, for an error message. */
export function lastLines(file: string, count = 15): string {
  try {
    const text = readFileSync(file)
    const tail = text.subarray(Math.max(0, text.length - TAIL_BYTES)).toString('utf8')
    return tail.trimEnd().split('\n').slice(-count).join('\n')
  } catch {
    return ''
  }
}

function rotate(file: string): void {
  if (existsSync(file) && statSync(file).size > LOG_BYTES_MAX) renameSync(file, `${file}.1`)
}
