// The data folder of npm start: one process owns it, and what a killed one left is cleared first.
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endRecorded } from './children.ts'
import { startTimeOf } from './processes.ts'

const STOPPING_WAIT_MS = 20_000
const RUNNING_WAIT_MS = 1_500

interface Owner {
  pid: number
  start: string | undefined
  stopping: boolean
}

/** What npm start leaves for other programs. null: it was given from outside and is not known. */
export interface DevInfo {
  api_url: string
  api_key: string
  inbox_url: string | null
  smtp_url: string
  temporal_address: string
  temporal_ui_url: string | null
  database_url: string
  /** Of the API and of the worker. */
  api_metrics_url: string
  metrics_url: string
  /** Where the worker takes bounces and complaints. */
  inbound_url: string
}

export type DevFolder = ReturnType<typeof openFolder>

/** Paths of the folder; `DRIPLINE_DATA` names another one than `.data` in the clone. */
export function openFolder(given: string | undefined) {
  const root = resolve(given ?? join(dirname(import.meta.dirname), '.data'))
  const path = (...names: string[]) => join(root, ...names)
  mkdirSync(path('logs'), { recursive: true })
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

/**
 * Makes this process the owner and ends what a killed owner left running.
 * @throws Error when another npm start runs on this folder
 */
export async function claimFolder(folder: DevFolder, say: (line: string) => void): Promise<void> {
  const begin = Date.now()
  for (;;) {
    const owner = readJson<Owner>(folder.owner)
    if (!owner || startTimeOf(owner.pid) !== owner.start) break
    const wait_ms = owner.stopping ? STOPPING_WAIT_MS : RUNNING_WAIT_MS
    if (Date.now() - begin > wait_ms) {
      throw new Error(
        `Dripline already runs on ${folder.root} (pid ${owner.pid}); its addresses are in dev.json there. ` +
          'Stop it first, or name another folder with DRIPLINE_DATA.',
      )
    }
    await pause(200)
  }
  writeOwner(folder, false)
  const ended = await endRecorded(folder.children)
  if (ended.length > 0) say(`ended what a killed run left: ${ended.join(', ')}`)
}

/** Tells a start that comes meanwhile to wait. */
export function markStopping(folder: DevFolder): void {
  writeOwner(folder, true)
}

export function releaseFolder(folder: DevFolder): void {
  rmSync(folder.owner, { force: true })
}

function writeOwner(folder: DevFolder, stopping: boolean): void {
  const owner: Owner = { pid: process.pid, start: startTimeOf(process.pid), stopping }
  writePrivate(folder.owner, JSON.stringify(owner))
}

export function readDevInfo(folder: DevFolder): DevInfo | undefined {
  return readJson<DevInfo>(folder.devJson)
}

export function writeDevInfo(folder: DevFolder, info: DevInfo): void {
  writePrivate(folder.devJson, `${JSON.stringify(info, null, 2)}\n`)
}

/** 32 random bytes in base64, made once: what is encrypted with them has to stay readable. */
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

/** Whole or not at all, readable by its owner alone. */
function writePrivate(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
