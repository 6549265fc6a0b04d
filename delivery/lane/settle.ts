// Settles attempts: one statement for a group, whoever its recipients are; what contacts are to hear follows by the pump.

import { transact } from '../../commands/transact.ts'
import {
  type SettledDelivery,
  type Settlement,
  settleDeliveries,
} from '../../db/deliveries/settle.ts'
import type { DeliveryDeps } from '../deps.ts'
import { UNKNOWN_RESPONSE } from '../nextState.ts'

type SettleDeps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'metrics'>

/** Writes the settlements that still hold their lease (null: whose lease has expired). It waits for no contact. */
export async function settle(
  deps: SettleDeps,
  settlements: Settlement[],
  leaseToken: string | null,
): Promise<void> {
  const settled = await transact.one(deps, async ({ db, wake }) => {
    const rows = await settleDeliveries(db, settlements, leaseToken, deps.now())
    if (rows[0]?.told) wake('dripline_mail_events')
    return rows
  })
  count(deps, settlements, settled)
}

/** What an operator watches: the outcomes that nobody knows, the second copies, the addresses that are given up. */
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
