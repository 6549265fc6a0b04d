// The temporary folder of one test run, and the removal of what killed runs left.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endRecorded } from '../../dev/children.ts'
import { startTimeOf } from '../../dev/processes.ts'

const PREFIX = 'dripline-test-'
const OWNER = 'owner.json'

/** A new folder that knows which process it belongs to. */
export function createRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), PREFIX))
  // Postgres may run as another account, which has to pass.
  chmodSync(folder, 0o711)
  const owner = { pid: process.pid, start: startTimeOf(process.pid) }
  writeFileSync(join(folder, OWNER), JSON.stringify(owner))
  return folder
}

export function removeRunFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

/** Ends the servers and removes the folders of runs that were killed. Runs that are alive keep theirs. */
export async function sweepRunFolders(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name)
    try {
      const owner = JSON.parse(readFileSync(join(folder, OWNER), 'utf8'))
      if (startTimeOf(owner.pid) === owner.start) continue
      await endRecorded(join(folder, 'children'))
      removeRunFolder(folder)
    } catch {
      // Being made just now, or another user's: not ours to remove.
    }
  }
}
