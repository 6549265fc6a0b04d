// Deletes a secret of a workspace.
import { deleteSecretRow } from '../../db/secrets/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { isSecretName } from '../../rules/secretNames.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Nodes that read it leave by `error` from now on. */
export function deleteSecret(
  deps: Pick<CommandDeps, 'db' | 'wake'>,
  reach: Reach,
  { name }: { name: string },
): Promise<undefined | Refusal<'secret_not_found'>> {
  return transact.one(deps, async ({ db }) => {
    // What can be no name is in no row, and some texts Postgres would not read.
    const isDeleted = isSecretName(name) && (await deleteSecretRow(db, reach, name))
    return isDeleted ? undefined : refuse('secret_not_found', { name })
  })
}
