// A process's state file: who it is, and what its main thread works on. It outlives the sudden death of the process.
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { StartError, textOf } from '../startFaults.ts'
import { isDead, type ProcessIdentity } from './identity.ts'
import { fillLine, fromLine, LINE_BYTES, type Mark, toLine } from './mark.ts'

const SUFFIX = '.state'

/** The line of a process that works on nothing: it is written after each piece of work. */
const NOTHING = toLine(null)

/** Where the state files of one service stand. Two services may share a folder. */
export interface StatePlace {
  folder: string
  /** A short name of the service: files of others are left alone. */
  service: string
}

/**
 * Makes the folder of state files, for its owner alone.
 * @throws StartError if it cannot be made, or others could write there
 */
export function prepareFolder(folder: string): void {
  const refuse = (why: string, cause?: unknown) =>
    new StartError(
      `The folder of WORKER_STATE_DIR cannot be used: ${why}`,
      'Set WORKER_STATE_DIR to a folder that this user owns and no other can write to; it is made when it is not there.',
      { cause },
    )
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
  } catch (err) {
    throw refuse(textOf(err), err)
  }
  const { uid, mode } = lstatSync(folder)
  const own = process.getuid?.()
  if (own !== undefined && uid !== own) throw refuse(`${folder} belongs to another user`)
  if ((mode & 0o022) !== 0) throw refuse(`${folder} can be written by other users`)
}

/** Makes the state file of this process. */
export function createStateFile({ folder, service }: StatePlace, identity: ProcessIdentity) {
  const path = join(folder, `${service}-${identity.run}${SUFFIX}`)
  const line = toLine(null)
  const fd = openSync(path, 'wx+', 0o600)
  writeSync(fd, Buffer.concat([toLine(identity), NOTHING]))
  return {
    /** For the threads of this process, which share it. It stays usable when somebody removes the file. */
    fd,
    /** Takes a few microseconds: the system keeps what was written when the process dies. */
    write(mark: Mark | null): void {
      if (mark) fillLine(line, mark)
      writeSync(fd, mark ? line : NOTHING, 0, LINE_BYTES, LINE_BYTES)
    },
    close(): void {
      closeSync(fd)
      rmSync(path, { force: true })
    },
  }
}

/**
 * A sign of life for processes that cannot see this one.
 * @returns whether the file still stands in its folder, where others find it
 */
export function touchStateFile(fd: number): boolean {
  const now = new Date()
  futimesSync(fd, now, now)
  return fstatSync(fd).nlink > 0
}

/** The mark of a process whose state file is open. */
export function readMark(fd: number): Mark | null {
  return fromLine<Mark>(readLines(fd)[1])
}

/** Both lines: who the process is, and its mark. */
function readLines(fd: number): [identity: Buffer, mark: Buffer] {
  const bytes = Buffer.alloc(2 * LINE_BYTES, ' ')
  readSync(fd, bytes, 0, bytes.length, 0)
  return [bytes.subarray(0, LINE_BYTES), bytes.subarray(LINE_BYTES)]
}

/** What a state file says; undefined if there is none. */
export function readStateFile(
  path: string,
): { identity: ProcessIdentity | null; mark: Mark | null; silent_ms: number } | undefined {
  try {
    const fd = openSync(path, 'r')
    try {
      const [identity, mark] = readLines(fd)
      return {
        identity: fromLine<ProcessIdentity>(identity),
        mark: fromLine<Mark>(mark),
        silent_ms: Date.now() - fstatSync(fd).mtimeMs,
      }
    } finally {
      closeSync(fd)
    }
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw err
  }
}

/** What a dead process worked on when it died. */
export interface LeftBehind {
  path: string
  run: string
  mark: Mark | null
}

/** The state files of dead processes of this service. Remove each with `forget` when its mark is dealt with. */
export function listLeftBehind(
  { folder, service }: StatePlace,
  own: ProcessIdentity,
): LeftBehind[] {
  const names = readdirSync(folder).filter(
    (name) => name.startsWith(`${service}-`) && name.endsWith(SUFFIX),
  )
  return names.flatMap((name) => {
    const path = join(folder, name)
    const { identity, mark, silent_ms } = readStateFile(path) ?? {}
    if (!identity || silent_ms === undefined || !isDead(identity, own, silent_ms)) return []
    return [{ path, run: identity.run, mark: mark ?? null }]
  })
}

export function forget({ path }: LeftBehind): void {
  rmSync(path, { force: true })
}
