// Inserts a sending domain that counts as verified and warmed up, for names that are not in DNS: for npm start,
// benchmarks and tests.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { insertDomain } from '../db/domains/writes.ts'
import { generateDkimKey } from '../mail/dkim/keys.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import type { DomainStatus } from '../rules/states.ts'

export interface VerifiedDomain {
  workspaceId: WorkspaceId
  userId: string
  name: string
  selector: string
  /** Whether opens and clicks of its mail are tracked; off unless said. */
  isTracked?: boolean
  /** Another state, for tests of domains that are not verified. */
  status?: DomainStatus
}

/**
 * Writes the domain with an RSA key, or with an invalid one if nothing is to be signed, because making a key takes
 * long.
 * @returns its id and public key (base64 SPKI)
 */
export async function insertVerifiedDomain(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'secrets'>,
  { workspaceId, userId, name, selector, isTracked = false, status = 'SUCCESS' }: VerifiedDomain,
  { key = 'made' }: { key?: 'made' | 'none' } = {},
): Promise<{ domainId: string; publicKey: string }> {
  const { newId, secrets } = deps
  const made = key === 'made' ? await generateDkimKey() : undefined
  const publicKey = made?.publicKey ?? 'none'
  const domainId = newId('domain')
  const at = deps.now()
  const verifiedAt = status === 'SUCCESS' ? at : null
  await transact({ ...deps, wake: () => undefined }, ({ db: trx }) =>
    insertDomain(
      trx,
      workspaceId,
      {
        id: domainId,
        name,
        status,
        last_checked_at: verifiedAt,
        last_success_at: verifiedAt,
        error_type: null,
        soa_record: '{}',
        is_warmed_up: true,
        open_tracking_enabled: isTracked,
        click_tracking_enabled: isTracked,
        warmed_up_at: at,
        created_by: userId,
        created_at: at,
      },
      {
        id: newId('domainKey'),
        selector,
        algorithm: 'rsa',
        public_key: publicKey,
        private_key: made ? secrets.encrypt('dkim-key', made.privateKey) : Buffer.alloc(0),
      },
    ),
  )
  return { domainId, publicKey }
}
