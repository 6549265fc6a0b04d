// Makes an audience.

import { insertAudience } from '../../db/audiences/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface CreateAudienceInput {
  name: string
  /** The user whose key asks. */
  createdBy: string
}

/** @returns the new audience's id */
export function createAudience(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  input: CreateAudienceInput,
): Promise<string> {
  return transact.one(deps, async ({ db, newId, now }) => {
    const id = newId('audience')
    const at = now()
    await insertAudience(db, workspaceId, {
      id,
      name: input.name,
      created_by: input.createdBy,
      created_at: at,
      updated_at: at,
    })
    return id
  })
}
