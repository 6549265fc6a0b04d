// Refuses a sender from a domain that the caller does not reach.

import type { Db } from '../../db/connect.ts'
import { findDomain } from '../../db/domains/reads.ts'
import { senderDomain } from '../../rules/addresses.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** The name of the only domain that the caller may send from; null: they may from any of the workspace. */
export async function boundDomainName({ db }: { db: Db }, reach: Reach): Promise<string | null> {
  if (reach.domainId === null) return null
  // The key of a deleted domain is revoked; until that is known it may send from none.
  return (await findDomain(db, reach, reach.domainId))?.name ?? ''
}

/** @param from a mailbox, as a template stores it; null or one that cannot be read sends nothing */
export async function checkSender(
  deps: { db: Db },
  reach: Reach,
  from: string | null,
): Promise<Refusal<'domain_not_of_key'> | undefined> {
  const name = from === null ? null : senderDomain(from)
  if (reach.domainId === null || name === null) return undefined
  return name === (await boundDomainName(deps, reach))
    ? undefined
    : refuse('domain_not_of_key', { name })
}
