// Finds a workspace by its name and one of its users by their address, or makes them.

import { upsertUser, upsertWorkspace } from '../../db/workspaces/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface Owner {
  email: string
  firstName: string | null
  lastName: string | null
}

export interface EnsureWorkspaceInput {
  name: string
  /** If absent: a user of the workspace with an address below `.invalid`. */
  user?: Owner
}

/** @returns the ids of the workspace and the user */
export function ensureWorkspace(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now'>,
  input: EnsureWorkspaceInput,
): Promise<{ workspaceId: WorkspaceId; userId: string }> {
  const { newId, now } = deps
  return transact({ ...deps, wake: () => undefined }, async ({ db: trx }) => {
    const created_at = now()
    const { id: workspaceId } = await upsertWorkspace(trx, {
      id: newId('workspace'),
      name: input.name,
      created_at,
    })
    const nobody = `owner@${workspaceId.toLowerCase().replace('_', '-')}.invalid`
    const user = await upsertUser(trx, workspaceId, {
      id: newId('user'),
      email: input.user?.email ?? nobody,
      first_name: input.user?.firstName ?? null,
      last_name: input.user?.lastName ?? null,
      created_at,
    })
    return { workspaceId, userId: user.id }
  })
}
