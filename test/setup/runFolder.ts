// The temporary folder of one test run, and the removal of folders that killed runs left.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endRecorded } from '../../dev/processes/children.ts'
import { startTimeOf } from '../../dev/processes/processes.ts'

const PREFIX = 'dripline-test-'
const OWNER = 'owner.json'

/** Makes a folder that records the process it belongs to. */
export function createRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), PREFIX))
  // Postgres may run as another user, who needs access to the folder.
  chmodSync(folder, 0o711)
  const owner = { pid: process.pid, start: startTimeOf(process.pid) }
  writeFileSync(join(folder, OWNER), JSON.stringify(owner))
  return folder
}

export function removeRunFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

/** Ends the servers and removes the folders of killed runs. Those of live runs stay. */
export async function sweepRunFolders(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name)
    try {
      const owner = JSON.parse(readFileSync(join(folder, OWNER), 'utf8'))
      if (startTimeOf(owner.pid) === owner.start) continue
      await endRecorded(join(folder, 'children'))
      removeRunFolder(folder)
    } catch {
      // The folder is being made, or belongs to another user: leave it.
    }
  }
}
