// Stores a secret of a workspace, encrypted.
import { findKnown } from '../../db/known.ts'
import { listSecrets } from '../../db/secrets/reads.ts'
import { upsertSecret } from '../../db/secrets/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface PutSecretInput {
  name: string
  value: string
}

/** Requests that are to be made already keep the value that they were written with. */
export function putSecret(
  deps: Pick<CommandDeps, 'db' | 'secrets' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { name, value }: PutSecretInput,
): Promise<undefined | Refusal<'too_many_secrets'>> {
  return transact(deps, async ({ db, secrets, now }) => {
    const known = await findKnown(db, workspaceId, 'secret', [name])
    // Two at once may make one too many, which does no harm.
    const count = known.size > 0 ? 0 : (await listSecrets(db, workspaceId)).length
    if (count >= limits.secretsPerWorkspaceMax) return refuse('too_many_secrets', {})
    const encrypted = secrets.encrypt('secret', Buffer.from(value, 'utf8'))
    await upsertSecret(db, workspaceId, { name, value: encrypted, now: now() })
    return undefined
  })
}
