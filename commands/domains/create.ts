// Registers a sending domain: checks its name, and makes its DKIM key, which is stored encrypted.

import { findDomainByName } from '../../db/domains/reads.ts'
import { insertDomain } from '../../db/domains/writes.ts'
import { isUniqueViolation } from '../../db/failures.ts'
import { insertDomainTask } from '../../db/outbox.ts'
import { generateDkimKey } from '../../mail/dkim/keys.ts'
import { isDomainName } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { registrableDomain } from '../../rules/mail/domainRecords.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { selectorOf } from './selector.ts'
import { tellOfDomain } from './tell.ts'

export interface CreateDomainInput {
  name: string
  /** The user whose key asks. */
  createdBy: string
}

export interface CreatedDomain {
  id: string
  name: string
  keys: { selector: string; algorithm: 'rsa'; public_key: string }[]
  status: 'NOT_STARTED'
}

/**
 * Makes a sending domain in the state `NOT_STARTED` with one RSA key, and starts its checks. Cannot run inside
 * another transaction, because it catches the database error of a name that is taken.
 * @returns the public half of its key; the private one is stored encrypted
 */
export async function createDomain(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  input: CreateDomainInput,
): Promise<CreatedDomain | Refusal<'invalid_domain_name' | 'domain_exists'>> {
  const { newId, now, secrets } = deps
  const name = input.name.toLowerCase()
  if (!isDomainName(name) || registrableDomain(name) === null) {
    return refuse('invalid_domain_name', { name })
  }
  // Checked before the slow making of a key. Between two requests at once the unique key of the table decides.
  if (await findDomainByName(deps.db, workspaceId, name)) return refuse('domain_exists', { name })
  const { publicKey, privateKey } = await generateDkimKey()
  const id = newId('domain')
  const key = { selector: selectorOf(id), algorithm: 'rsa', public_key: publicKey } as const
  const at = now()
  const row = {
    id,
    name,
    status: 'NOT_STARTED' as const,
    last_checked_at: null,
    last_success_at: null,
    error_type: null,
    soa_record: '{}',
    warmed_up_at: null,
    created_by: input.createdBy,
    created_at: at,
    checking_since: at,
  }
  const private_key = secrets.encrypt('dkim-key', privateKey)
  try {
    await transact(deps, async (inTrx) => {
      const { db, wake } = inTrx
      await insertDomain(db, workspaceId, row, { ...key, id: newId('domainKey'), private_key })
      await insertDomainTask(db, { kind: 'domain_start', domainId: id, workspaceId, at })
      await tellOfDomain(inTrx, workspaceId, id, 'created')
      wake('dripline_outbox')
    })
  } catch (err) {
    if (isUniqueViolation(err)) return refuse('domain_exists', { name })
    throw err
  }
  return { id, name, keys: [key], status: row.status }
}
