// Registers a sending domain: its name is checked, its DKIM key made and kept encrypted.

import type { ApiDeps } from '../../api/http/env.ts'
import { badRequest, conflict } from '../../api/http/errors.ts'
import { findDomainByName } from '../../db/domains/reads.ts'
import { registerDomain } from '../../db/domains/writes.ts'
import { isUniqueViolation } from '../../db/failures.ts'
import { generateDkimKey } from '../../mail/dkim/keys.ts'
import { isDomainName } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { registrableDomain } from '../../rules/mail/domainRecords.ts'
import { selectorOf } from './rotateDkim.ts'

const STATUS = 'NOT_STARTED'

/**
 * @throws ApiError 400 `invalid_domain_name` for what nobody can register, 409 `domain_exists`
 */
export async function createDomain(
  { db, newId, now, secrets, wake }: Pick<ApiDeps, 'db' | 'newId' | 'now' | 'secrets' | 'wake'>,
  input: { workspaceId: WorkspaceId; userId: string; name: string },
) {
  const name = input.name.toLowerCase()
  if (!isDomainName(name) || registrableDomain(name) === null) {
    throw badRequest('name must be a valid domain name', 'invalid_domain_name')
  }
  const exists = () => conflict(`Domain ${name} is already registered`, 'domain_exists')
  // Before the costly key is made; the unique key decides between two at once.
  if (await findDomainByName(db, input.workspaceId, name)) throw exists()
  const { publicKey, privateKey } = await generateDkimKey()
  const id = newId('domain')
  const key = { selector: selectorOf(id), algorithm: 'rsa', public_key: publicKey } as const
  try {
    await registerDomain(
      db,
      {
        id,
        name,
        workspace_id: input.workspaceId,
        status: STATUS,
        last_checked_at: null,
        last_success_at: null,
        error_type: null,
        soa_record: '{}',
        warmed_up_at: null,
        created_by: input.userId,
        created_at: now(),
      },
      {
        ...key,
        id: newId('domainKey'),
        private_key: secrets.encrypt('dkim-key', privateKey),
      },
    )
  } catch (err) {
    throw isUniqueViolation(err) ? exists() : err
  }
  wake('dripline_outbox')
  return { id, name, keys: [key], status: STATUS } as const
}
