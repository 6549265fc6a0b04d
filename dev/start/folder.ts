// The data folder of npm start. One process owns it, and first ends what a killed process left running.
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endRecorded } from '../processes/children.ts'
import { startTimeOf } from '../processes/processes.ts'

const RUNNING_WAIT_MS = 1_500

interface Owner {
  pid: number
  start: string | undefined
  /** How long its stop may take; null: it runs. */
  stopping_ms: number | null
}

/** The content of dev.json, for other programs. null: the part was given from outside and is not known. */
export interface DevInfo {
  api_url: string
  api_key: string
  inbox_url: string | null
  smtp_url: string
  temporal_address: string
  temporal_ui_url: string | null
  database_url: string
  /** Metrics of the API and of the worker. */
  api_metrics_url: string
  metrics_url: string
  /** Address at which the worker accepts bounces and complaints. */
  inbound_url: string
  /** Address at which the worker takes mail to send; the password is `api_key`. */
  submission_url: string
}

export type DevFolder = ReturnType<typeof openFolder>

/**
 * Makes the folder and returns its paths. `DRIPLINE_DATA` names another folder than `.data` in the clone.
 * @throws Error with one sentence if it is not writable
 */
export function openFolder(given: string | undefined) {
  const root = resolve(given || join(join(import.meta.dirname, '..', '..'), '.data'))
  const path = (...names: string[]) => join(root, ...names)
  try {
    // What is there already has to let us write: mkdir alone calls a read-only disk "no such file".
    accessSync(nearest(root), constants.W_OK)
    mkdirSync(path('logs'), { recursive: true })
  } catch (err) {
    throw new Error(cannotWrite(root, (err as NodeJS.ErrnoException).code))
  }
  return {
    root,
    children: path('children'),
    postgres: path('postgres'),
    temporalDb: path('temporal.db'),
    inbox: path('inbox'),
    devJson: path('dev.json'),
    secretKey: path('secret.key'),
    owner: path('owner.json'),
    log: (name: string) => path('logs', `${name}.log`),
  }
}

/** The folder itself, or the one around it that is there. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(dirname(folder))
}

function cannotWrite(root: string, code: string | undefined): string {
  const why: Record<string, string> = {
    EACCES: 'belongs to somebody else',
    EPERM: 'belongs to somebody else',
    EROFS: 'is on a disk that is read-only',
    ENOSPC: 'is on a disk that is full',
    ENOTDIR: 'goes through a file that is no folder',
    EEXIST: 'is a file',
  }
  const reason = why[code ?? ''] ?? `cannot be made (${code})`
  return `The data folder ${root} ${reason}: mend that, or name another one with DRIPLINE_DATA.`
}

/**
 * Makes this process the owner and ends what a killed owner left running.
 * @throws Error if another npm start runs on this folder
 */
export async function claimFolder(folder: DevFolder, say: (line: string) => void): Promise<void> {
  const begin = Date.now()
  for (;;) {
    const owner = readJson<Owner>(folder.owner)
    if (!owner || startTimeOf(owner.pid) !== owner.start) break
    const wait_ms = owner.stopping_ms ?? RUNNING_WAIT_MS
    if (Date.now() - begin > wait_ms) {
      throw new Error(
        `Dripline already runs on ${folder.root} (pid ${owner.pid}, its addresses are in dev.json there): ` +
          'stop it first, or name another folder with DRIPLINE_DATA.',
      )
    }
    await pause(200)
  }
  writeOwner(folder, null)
  const ended = await endRecorded(folder.children)
  if (ended.length > 0) say(`ended what a killed run left: ${ended.join(', ')}`)
}

/** Marks the folder as being stopped, so that a new start waits. @param wait_ms how long the stop may take */
export function markStopping(folder: DevFolder, wait_ms: number): void {
  writeOwner(folder, wait_ms)
}

export function releaseFolder(folder: DevFolder): void {
  rmSync(folder.owner, { force: true })
}

function writeOwner(folder: DevFolder, stopping_ms: number | null): void {
  const owner: Owner = { pid: process.pid, start: startTimeOf(process.pid), stopping_ms }
  writePrivate(folder.owner, JSON.stringify(owner))
}

export function readDevInfo(folder: DevFolder): DevInfo | undefined {
  return readJson<DevInfo>(folder.devJson)
}

export function writeDevInfo(folder: DevFolder, info: DevInfo): void {
  writePrivate(folder.devJson, `${JSON.stringify(info, null, 2)}\n`)
}

/**
 * The SECRET_KEY of the folder: 32 random bytes in base64. It is made once and kept, so that encrypted data stays
 * readable.
 */
export function secretKey(folder: DevFolder): string {
  try {
    return readFileSync(folder.secretKey, 'utf8').trim()
  } catch {
    const key = randomBytes(32).toString('base64')
    writePrivate(folder.secretKey, `${key}\n`)
    return key
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch {
    return undefined
  }
}

/** Writes a file atomically, readable only by its owner. */
function writePrivate(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
