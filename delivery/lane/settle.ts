// Settles attempts: one statement for a group, whoever its recipients are; what contacts are to hear follows by the pump.

import { transact } from '../../commands/transact.ts'
import {
  type SettledDelivery,
  type Settlement,
  settleDeliveries,
} from '../../db/deliveries/settle.ts'
import { isUnavailable } from '../../db/failures.ts'
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
    const group = await settleDeliveries(db, settlements, leaseToken, deps.now())
    if (group.hasMailEvents) wake('dripline_mail_events')
    return group.deliveries
  })
  count(deps, settlements, settled)
}

/**
 * Settles a group; what Postgres refuses is done again one by one, so that one outcome keeps no other unwritten.
 * @returns for each, why it was not written; undefined for those that were
 */
export async function settleEach(
  deps: SettleDeps,
  group: Settlement[],
  leaseToken: string,
): Promise<unknown[]> {
  try {
    await settle(deps, group, leaseToken)
    return group.map(() => undefined)
  } catch (err) {
    if (isUnavailable(err) || group.length === 1) return group.map(() => err)
    const faults: unknown[] = []
    for (const one of group) faults.push(...(await settleEach(deps, [one], leaseToken)))
    return faults
  }
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
