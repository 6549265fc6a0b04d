// A sending domain that counts as verified and warmed up, for names that no outside DNS knows.
import type { Db } from '../db/connect.ts'
import { insertDomain } from '../db/domains/writes.ts'
import { generateDkimKey } from '../mail/dkim/keys.ts'
import type { NewId, WorkspaceId } from '../rules/ids.ts'
import type { Secrets } from '../runtime/secrets.ts'

/** Writes the domain with an RSA key. @returns its id and public key (base64 SPKI) */
export async function insertVerifiedDomain(
  { db, newId, now, secrets }: { db: Db; newId: NewId; now: Date; secrets: Secrets },
  domain: { workspaceId: WorkspaceId; userId: string; name: string; selector: string },
): Promise<{ domainId: string; publicKey: string }> {
  const { publicKey, privateKey } = await generateDkimKey()
  const domainId = newId('domain')
  await insertDomain(
    db,
    {
      id: domainId,
      workspace_id: domain.workspaceId,
      name: domain.name,
      status: 'SUCCESS',
      last_checked_at: now,
      last_success_at: now,
      error_type: null,
      soa_record: '{}',
      is_warmed_up: true,
      warmed_up_at: now,
      created_by: domain.userId,
      created_at: now,
    },
    {
      id: newId('domainKey'),
      selector: domain.selector,
      algorithm: 'rsa',
      public_key: publicKey,
      private_key: secrets.encrypt('dkim-key', privateKey),
    },
  )
  return { domainId, publicKey }
}
