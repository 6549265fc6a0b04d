// Starts, recognises and stops operating-system processes: the base of everything in dev/ and test/setup.
import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type Exit, endsWithin, watchExit } from './exit.ts'

const LOG_BYTES_MAX = 20 * 1024 * 1024
const TAIL_BYTES = 64 * 1024
const POLITE: NodeJS.Signals[] = ['SIGTERM']

/** A child process in its own process group that logs to a file. */
export interface Child {
  name: string
  pid: number
  logFile: string
  /** Offset in the log file at which its lines begin. */
  logFrom_bytes: number
  /** Resolves when the child has ended for any reason; never rejects. */
  exited: Promise<Exit>
  alive(): boolean
  /** Sends the signals one after the other and waits for the end after each. SIGKILL is last. */
  stop(options?: StopOptions): Promise<void>
  /** SIGKILL for the whole group. */
  kill(): Promise<void>
  /** One signal to the child's group (SIGSTOP, SIGCONT, ...). */
  signal(signal: NodeJS.Signals): void
}

interface StopOptions {
  /** The signals before SIGKILL; SIGTERM if absent. */
  signals?: NodeJS.Signals[]
  /** Wait after each signal. */
  wait_ms?: number
}

export interface SpawnOptions {
  name: string
  command: string
  args: string[]
  logFile: string
  /** Overrides this process's environment; undefined removes a variable. */
  env?: NodeJS.ProcessEnv
  /** Variables of this process that the child must not get. */
  hiddenEnv?: RegExp
  cwd?: string
  uid?: number
  gid?: number
}

const children = new Set<Child>()
let refusing = false

/** True once all children are being killed: their ends say nothing. */
export const isKillingAll = () => refusing

/** Kills every child of this process, and prevents that others start. */
export async function killAllChildren(): Promise<void> {
  refusing = true
  await Promise.all([...children].map((child) => child.kill()))
}

/**
 * Starts a child in its own process group that writes its output directly to `logFile`. So its output stays valid
 * if the parent is killed, and Ctrl-C in a terminal does not reach it directly.
 */
export async function startChild(options: SpawnOptions): Promise<Child> {
  if (refusing) throw new Error(`${options.name}: not started, everything is being stopped`)
  rotate(options.logFile)
  const log = openSync(options.logFile, 'a')
  const logFrom_bytes = fstatSync(log).size
  const { uid, gid } = options
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...inherited(options.hiddenEnv), ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
  })
  closeSync(log)
  const { exited, isEnded } = watchExit(child)
  const spawned = new Promise<void>((resolve, reject) => {
    child.once('error', (err) => reject(new Error(`${options.name}: ${err.message}`)))
    child.once('spawn', () => resolve())
  })
  const { pid } = child
  if (pid === undefined) {
    // There is no process: what follows is the error that says why.
    await spawned
    throw new Error(`${options.name}: not started`)
  }
  const signal = (name: NodeJS.Signals) => {
    if (!isEnded()) signalGroup(pid, name)
  }
  const handle: Child = {
    name: options.name,
    pid,
    logFile: options.logFile,
    logFrom_bytes,
    exited,
    alive: () => !isEnded(),
    signal,
    async stop({ signals = POLITE, wait_ms = 10_000 }: StopOptions = {}) {
      for (const name of [...signals, 'SIGKILL' as NodeJS.Signals]) {
        signal(name)
        // A stopped process cannot handle the signal before it continues.
        if (name === 'SIGTERM') signal('SIGCONT')
        if (await endsWithin(exited, wait_ms)) return
      }
    },
    async kill() {
      signal('SIGKILL')
      await exited
    },
  }
  // Before anything is awaited: killAllChildren has to find a child that is just being started.
  children.add(handle)
  void exited.then(() => children.delete(handle))
  await spawned
  return handle
}

function inherited(hidden?: RegExp): NodeJS.ProcessEnv {
  const own = process.env
  if (!hidden) return own
  return Object.fromEntries(Object.entries(own).filter(([name]) => !hidden.test(name)))
}

/** Sends a signal to a process group, or to the single process if there is no such group. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, signal)
      return
    } catch {
      // No such group: only the process, or nothing, is left.
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
 * The start time of a process as a text to compare: another process with the same pid has another start time.
 * undefined if there is no such process.
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

/** The pid of a process's parent; undefined if the process does not exist. */
export function parentOf(pid: number): number | undefined {
  const known = statFields(pid)?.[1]
  if (known !== undefined) return Number(known)
  const ps = spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' })
  return Number(ps.stdout) || undefined
}

/** Waits until a process that is not a child has ended. @returns false if it still runs */
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
