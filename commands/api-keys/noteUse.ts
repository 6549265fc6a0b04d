// Stores when an API key was last used, to the minute, for the list of keys.

import { updateApiKeyUsed } from '../../db/api-keys/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const USED_EVERY_MS = 60_000

export interface NoteKeyUseInput {
  id: string
  /** The stored time of the last use; null: never used. */
  lastUsedAt: Date | null
}

/** Writes nothing if the stored last use is less than a minute ago. */
export async function noteKeyUse(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { id, lastUsedAt }: NoteKeyUseInput,
): Promise<void> {
  const at = deps.now()
  if (lastUsedAt && at.getTime() - lastUsedAt.getTime() <= USED_EVERY_MS) return
  await transact.one(deps, ({ db }) => updateApiKeyUsed(db, workspaceId, id, at))
}
