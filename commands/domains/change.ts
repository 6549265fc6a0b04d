// Changes a sending domain: its settings, a check now, its end. Each is one commit; Temporal hears of it afterwards.

import type { DomainChange } from '../../api/domains/schemas.ts'
import type { ApiDeps } from '../../api/http/env.ts'
import { badRequest, notFound } from '../../api/http/errors.ts'
import { revokeDomainKeys } from '../../db/api-keys/writes.ts'
import { type DomainRow, findDomain } from '../../db/domains/reads.ts'
import { lockDomain, updateDomain } from '../../db/domains/writes.ts'
import { insertDomainTask } from '../../db/outbox.ts'
import type { Row } from '../../db/schema.ts'
import { isDomainName } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { mayTrack } from '../../rules/mail/domainRecords.ts'

type Deps = Pick<ApiDeps, 'db' | 'now' | 'wake'>
type Trx = Parameters<typeof lockDomain>[0]

export const domainNotFound = (id: string) => notFound(`Domain ${id} not found`)

/**
 * Runs `change` under the domain's lock and has the domain checked when that has committed.
 * @throws ApiError 404 when the workspace has no such domain
 */
export async function withDomain<T>(
  { db, now, wake }: Deps,
  workspaceId: WorkspaceId,
  id: string,
  change: (trx: Trx, domain: Row<'domains'>, at: Date) => Promise<T>,
): Promise<T> {
  const at = now()
  const result = await db.transaction().execute(async (trx) => {
    const domain = await lockDomain(trx, workspaceId, id)
    if (!domain) throw domainNotFound(id)
    const changed = await change(trx, domain, at)
    await insertDomainTask(trx, { kind: 'domain_check', domainId: id, workspaceId, at })
    return changed
  })
  wake('dripline_outbox')
  return result
}

/** Has the records looked at now. One that was given up, or is not verified yet, gets a new round of 72 hours. */
export function verifyDomain(deps: Deps, workspaceId: WorkspaceId, id: string): Promise<DomainRow> {
  return withDomain(deps, workspaceId, id, async (trx, domain, at) => {
    if (domain.status === 'FAILED') {
      const round = { status: 'PENDING', failing_since: null, misses: 0 }
      await updateDomain(trx, workspaceId, id, { ...round, checking_since: at })
    } else if (domain.status === 'NOT_STARTED' || domain.status === 'PENDING') {
      await updateDomain(trx, workspaceId, id, { checking_since: at })
    }
    return reread(trx, workspaceId, id)
  })
}

/** @throws ApiError 404, 400 `invalid_domain_name` for a tracking host that cannot be one */
export function changeDomain(
  deps: Deps,
  workspaceId: WorkspaceId,
  id: string,
  change: DomainChange,
): Promise<DomainRow> {
  const { tracking_domain, ...flags } = change
  return withDomain(deps, workspaceId, id, async (trx, domain) => {
    const host = tracking_domain?.toLowerCase() ?? null
    if (host !== null && !(isDomainName(host) && mayTrack(host, domain.name))) {
      throw badRequest(
        `tracking_domain must be a name below the registrable domain of ${domain.name}`,
        'invalid_domain_name',
      )
    }
    const given = Object.entries(flags).filter(([, value]) => value !== undefined)
    await updateDomain(trx, workspaceId, id, {
      ...Object.fromEntries(given),
      ...(tracking_domain === undefined || host === domain.tracking_domain
        ? {}
        : { tracking_domain: host, record_states: withoutTracking(domain.record_states) }),
    })
    return reread(trx, workspaceId, id)
  })
}

/** What was found of the host before says nothing of the new one. */
function withoutTracking(states: Row<'domains'>['record_states']) {
  const { tracking: _, ...others } = states
  return others
}

/**
 * Deletes a domain: its name is free at once, its keys of the API are revoked, mail that was accepted goes out still.
 * @throws ApiError 404
 */
export function deleteDomain(deps: Deps, workspaceId: WorkspaceId, id: string): Promise<void> {
  return withDomain(deps, workspaceId, id, async (trx, _domain, at) => {
    await updateDomain(trx, workspaceId, id, { deleted_at: at })
    await revokeDomainKeys(trx, workspaceId, id, at)
  })
}

/** The domain as it now is, for the answer. */
export async function reread(trx: Trx, workspaceId: WorkspaceId, id: string): Promise<DomainRow> {
  const row = await findDomain(trx, workspaceId, id)
  if (!row) throw domainNotFound(id)
  return row
}
