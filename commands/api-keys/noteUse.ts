// Notes when an API key was last used, to the minute: the list of keys shows it.

import { updateApiKeyUsed } from '../../db/api-keys/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const USED_EVERY_MS = 60_000

export interface NoteKeyUseInput {
  id: string
  /** As it stands in the database; null: never used. */
  lastUsedAt: Date | null
}

/** Writes nothing when the last use that was noted is younger than a minute. */
export async function noteKeyUse(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { id, lastUsedAt }: NoteKeyUseInput,
): Promise<void> {
  const at = deps.now()
  if (lastUsedAt && at.getTime() - lastUsedAt.getTime() <= USED_EVERY_MS) return
  await transact.one(deps, ({ db }) => updateApiKeyUsed(db, workspaceId, id, at))
}
