// Records an open or a click: the email event, what it tells of machines, and the contact's automation event, in one commit.

import type { ApiDeps } from '../../api/http/env.ts'
import type { Trx } from '../../db/connect.ts'
import { listMailContacts } from '../../db/deliveries/mailContacts.ts'
import { countTracked, listLinkFetches, type TrackedDelivery } from '../../db/tracking/reads.ts'
import { insertTracked, lockMailTracking, markClicks } from '../../db/tracking/writes.ts'
import { deleteUnconfirmed } from '../../db/unsubscribes/writes.ts'
import {
  BURST_MS,
  isBurst,
  type MachineReason,
  SCAN_WINDOW_MS,
  showsScanner,
  TOO_SOON_MS,
} from '../../rules/mail/machines.ts'
import { recordMailEvent } from '../events/recordMail.ts'

/** The same open or click counts once within this. */
const REPEAT_MS = 10_000
/** Opens and clicks of one recipient that are stored: whoever has a token cannot fill the table. */
const EVENTS_PER_RECIPIENT_MAX = 1_000

export interface TrackedVisit {
  ip: string | null
  userAgent: string
  /** What the request itself gives away; null: nothing. */
  machine: MachineReason | null
}

type Deps = Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake'>

/**
 * Records a visit of the pixel (`link` null) or of a link. Beyond the limits it records nothing.
 * A click that shows a scanner at work marks the clicks just before it, and undoes what it did to the subscription.
 */
export async function recordTracking(
  { db, now, newId, wake }: Deps,
  delivery: TrackedDelivery,
  link: string | null,
  visit: TrackedVisit,
): Promise<void> {
  const told = await db.transaction().execute(async (trx) => {
    await lockMailTracking(trx, delivery.email_id)
    // Read under the lock, so that times and commits have one order.
    const at = now()
    if ((await countTracked(trx, delivery, EVENTS_PER_RECIPIENT_MAX)) >= EVENTS_PER_RECIPIENT_MAX) {
      return false
    }
    const watch = link === null ? null : await watchLinks(trx, delivery, link, at)
    const machine =
      visit.machine ?? (isTooSoon(delivery, at) ? 'too_soon' : (watch?.machine ?? null))
    const name = link === null ? 'opened' : 'clicked'
    const data = {
      ...(link === null ? {} : { link }),
      ...(visit.ip === null ? {} : { ip: visit.ip }),
      user_agent: visit.userAgent,
    }
    const event = { status: name, at, data, machine } as const
    const repeatsAfter = new Date(at.getTime() - REPEAT_MS)
    if (!(await insertTracked(trx, delivery, event, repeatsAfter))) return false
    if (watch?.scanner) {
      await deleteUnconfirmed(trx, delivery.email_id, new Date(at.getTime() - SCAN_WINDOW_MS))
    }
    if (machine !== null) return false
    const [contact] = await listMailContacts(trx, [delivery.delivery_id])
    return contact ? recordMailEvent(trx, { newId, now: at }, contact, { name, at, data }) : false
  })
  if (told) wake('dripline_outbox')
}

function isTooSoon({ settled_at }: TrackedDelivery, at: Date): boolean {
  return settled_at === null || at.getTime() - settled_at.getTime() < TOO_SOON_MS
}

/** What this click makes of those of the last minute. */
async function watchLinks(
  trx: Trx,
  delivery: TrackedDelivery,
  link: string,
  at: Date,
): Promise<{ machine: MachineReason | null; scanner: boolean }> {
  const since = new Date(at.getTime() - SCAN_WINDOW_MS)
  const fetches = [...(await listLinkFetches(trx, delivery.email_id, since)), { at, link }]
  const burst = isBurst(fetches, at)
  if (burst) await markClicks(trx, delivery, new Date(at.getTime() - BURST_MS), 'burst')
  return { machine: burst ? 'burst' : null, scanner: showsScanner(fetches) }
}
