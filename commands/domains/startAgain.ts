// Has the checks of a domain started again that do not run.
import { lockDomainToCheck } from '../../db/domains/checks.ts'
import type { CheckedDomain } from '../../db/domains/lost.ts'
import { insertDomainTask } from '../../db/outbox.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** @returns false if the domain was deleted, or is to be checked no more */
export function startChecksAgain(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  { id, workspace_id: workspaceId }: Pick<CheckedDomain, 'id' | 'workspace_id'>,
): Promise<boolean> {
  return transact(deps, async ({ db: trx, now, wake }) => {
    const domain = await lockDomainToCheck(trx, workspaceId, id)
    if (!domain || domain.status === 'FAILED') return false
    await insertDomainTask(trx, { kind: 'domain_start', domainId: id, workspaceId, at: now() })
    wake('dripline_outbox')
    return true
  })
}
