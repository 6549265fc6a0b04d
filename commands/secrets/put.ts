// Stores a secret of a workspace, encrypted.
import { countSecrets, findSecretNames } from '../../db/secrets/reads.ts'
import { upsertSecret } from '../../db/secrets/writes.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface PutSecretInput {
  name: string
  value: string
}

/**
 * Requests that are to be made already keep the value that they were written with. A bound caller finds none where the name
 * is another domain's or the workspace's.
 */
export function putSecret(
  deps: Pick<CommandDeps, 'db' | 'secrets' | 'now' | 'wake'>,
  reach: Reach,
  { name, value }: PutSecretInput,
): Promise<undefined | Refusal<'too_many_secrets' | 'secret_not_found'>> {
  return transact(deps, async ({ db, secrets, now }) => {
    const known = await findSecretNames(db, reach, [name])
    // Two at once may make one too many, which does no harm.
    const count = known.size > 0 ? 0 : await countSecrets(db, reach.workspaceId)
    if (count >= limits.secretsPerWorkspaceMax) return refuse('too_many_secrets', {})
    const encrypted = secrets.encrypt('secret', Buffer.from(value, 'utf8'))
    const isStored = await upsertSecret(db, reach, { name, value: encrypted, now: now() })
    return isStored ? undefined : refuse('secret_not_found', { name })
  })
}
