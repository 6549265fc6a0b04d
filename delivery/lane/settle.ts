// Settles attempts and tells the automation side: row, recipient's event and contact's event in one transaction.

import { recordMailEvent } from '../../commands/events/recordMail.ts'
import type { Db } from '../../db/connect.ts'
import { listMailContacts, type MailContact } from '../../db/deliveries/mailContacts.ts'
import {
  type SettledDelivery,
  type Settlement,
  settleDeliveries,
} from '../../db/deliveries/settle.ts'
import type { ActivityDeps } from '../deps.ts'
import { UNKNOWN_RESPONSE } from '../nextState.ts'

type SettleDeps = Pick<ActivityDeps, 'db' | 'now' | 'newId' | 'wake' | 'metrics'>

/**
 * Writes the settlements that still hold their lease (null: whose lease has expired).
 * @param hasContact whether the delivery's recipient may be an automation contact
 */
export async function settleAndTell(
  deps: SettleDeps,
  settlements: Settlement[],
  leaseToken: string | null,
  hasContact: (deliveryId: number) => boolean = () => true,
): Promise<void> {
  const withEvent = settlements.filter(({ event, id }) => event !== null && hasContact(id))
  const contacts = await listMailContacts(
    deps.db,
    withEvent.map((settlement) => settlement.id),
  )
  if (contacts.length === 0) {
    const settled = await settleDeliveries(deps.db, settlements, leaseToken, deps.now())
    count(deps, settlements, settled)
    return
  }
  const { settled, wroteOutbox } = await deps.db
    .transaction()
    .execute((trx) => settleWithContacts(deps, trx, settlements, leaseToken, contacts))
  count(deps, settlements, settled)
  if (wroteOutbox) deps.wake('dripline_outbox')
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

async function settleWithContacts(
  deps: SettleDeps,
  trx: Parameters<typeof recordMailEvent>[0],
  settlements: Settlement[],
  leaseToken: string | null,
  contacts: MailContact[],
): Promise<{ settled: SettledDelivery[]; wroteOutbox: boolean }> {
  const now = deps.now()
  const settled = await settleDeliveries(trx as Db, settlements, leaseToken, now)
  const rows = new Map<number, SettledDelivery>(settled.map((row) => [row.id, row]))
  const events = new Map(settlements.map((settlement) => [settlement.id, settlement.event]))
  let wroteOutbox = false
  // In the order of the contacts' ids, so that no two settling transactions wait for each other.
  for (const contact of contacts) {
    const event = events.get(contact.delivery_id)
    if (!event || !rows.has(contact.delivery_id)) continue
    const data = event.status === 'bounced' ? event.data : {}
    const told = await recordMailEvent(trx, { newId: deps.newId, now }, contact, {
      name: event.status,
      at: event.at,
      data,
    })
    wroteOutbox ||= told
  }
  return { settled, wroteOutbox }
}
