// Runs a change of a sending domain under its lock, and has the domain checked after the commit.

import { type DomainRow, findDomain } from '../../db/domains/reads.ts'
import { lockDomain } from '../../db/domains/writes.ts'
import { insertDomainTask } from '../../db/outbox.ts'
import type { Row } from '../../db/schema.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'

/** Runs `work` under the domain's lock and has the domain checked after the commit. */
export function withDomain<D extends CommandDeps, T>(
  deps: D,
  reach: Reach,
  id: string,
  work: (deps: InTrx<D>, domain: Row<'domains'>, at: Date) => Promise<T>,
): Promise<T | Refusal<'domain_id_not_found'>> {
  const at = deps.now()
  return transact(deps, async (inTrx) => {
    const { db, wake } = inTrx as InTrx<CommandDeps>
    const domain = isId('domain', id) ? await lockDomain(db, reach, id) : undefined
    if (!domain) return refuse('domain_id_not_found', { id })
    const changed = await work(inTrx, domain, at)
    if (isRefusal(changed)) return changed
    await insertDomainTask(db, {
      kind: 'domain_check',
      domainId: id,
      workspaceId: reach.workspaceId,
      at,
    })
    wake('dripline_outbox')
    return changed
  })
}

/** Reads the locked domain again, for the answer. */
export async function reread(
  { db }: InTrx<CommandDeps>,
  reach: Reach,
  id: string,
): Promise<DomainRow> {
  const row = await findDomain(db, reach, id)
  if (!row) throw new Error(`domain ${id} is gone under its lock`)
  return row
}
