// Settles attempts: one statement for a group. The pump records what they mean for contacts later.

import { settleSuppressed } from '../../commands/suppressions/settleWaiting.ts'
import { transact } from '../../commands/transact.ts'
import {
  type SettledDelivery,
  type SettledGroup,
  type Settlement,
  settleDeliveries,
} from '../../db/deliveries/settle.ts'
import type { DeliveryDeps } from '../deps.ts'
import { UNKNOWN_RESPONSE } from '../nextState.ts'

type SettleDeps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'metrics' | 'log'>

/**
 * Writes the settlements of deliveries whose lease has this token (null: whose lease has expired). It locks no
 * contact. What waits for an address that they suppressed is settled afterwards.
 * @returns the ids of those that were passed over, since somebody holds their deliveries
 */
export async function settle(
  deps: SettleDeps,
  settlements: Settlement[],
  leaseToken: string | null,
): Promise<ReadonlySet<number>> {
  const { deliveries, held } = await transact.one(
    deps,
    async ({ db, wake }): Promise<SettledGroup> => {
      const group = await settleDeliveries(db, settlements, leaseToken, deps.now())
      if (group.hasMailEvents) wake('dripline_mail_events')
      return group
    },
  )
  count(deps, settlements, deliveries)
  await stopWaitingMail(deps, deliveries)
  return new Set(held)
}

/** Settles what waits for addresses that were suppressed. The settlements are committed, so it does not throw. */
async function stopWaitingMail(deps: SettleDeps, settled: SettledDelivery[]): Promise<void> {
  const suppressed = settled.filter((row) => row.suppressed)
  for (const workspaceId of new Set(suppressed.map((row) => row.workspace_id))) {
    const own = suppressed.filter((row) => row.workspace_id === workspaceId)
    const emails = own.map(({ recipient }) => recipient)
    await settleSuppressed(deps, workspaceId, { emails }).catch((err: unknown) =>
      deps.log.warn({ err }, 'what waits for suppressed addresses is stopped when it is claimed'),
    )
  }
}

/** Counts unknown outcomes, deliveries that are sent once more, and suppressed addresses for the metrics. */
function count(deps: SettleDeps, settlements: Settlement[], settled: SettledDelivery[]): void {
  const ids = new Set(settled.map((row) => row.id))
  const written = settlements.filter(({ id }) => ids.has(id))
  deps.metrics?.settled({
    unknown: written.filter(({ state }) => state === 'unknown').length,
    resent: written.filter(
      ({ response, state }) => state === 'queued' && response === UNKNOWN_RESPONSE,
    ).length,
    suppressed: settled.filter((row) => row.suppressed).length,
  })
}
