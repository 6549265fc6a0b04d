// Records an open or a click in one commit: the email event, whether a machine made it, and the mail event for the
// contact.

import type { Trx } from '../../db/connect.ts'
import { insertMailEvent } from '../../db/deliveries/mailEvents.ts'
import {
  countTracked,
  findTrackedDelivery,
  listLinkFetches,
  type TrackedDelivery,
} from '../../db/tracking/reads.ts'
import { insertTracked, lockMailTracking, markClicks } from '../../db/tracking/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import {
  BURST_MS,
  isBurst,
  type MachineReason,
  SCAN_WINDOW_MS,
  showsScanner,
  TOO_SOON_MS,
} from '../../rules/mail/machines.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'
import { undoScannedUnsubscribe } from '../unsubscribes/undoScanned.ts'

/** The same open or click counts once within this time. */
const REPEAT_MS = 10_000

export interface TrackedVisit {
  ip: string | null
  userAgent: string
  /** Why the request itself shows a machine; null if it does not. */
  machine: MachineReason | null
}

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

/**
 * Records a visit of the pixel (`link` null) or of a link. Beyond `emailEventsPerRecipientMax` it records nothing; of a recipient
 * who was erased neither address, user agent nor link.
 * It locks no contact, except when the clicks show a scanner: then it undoes an unsubscribe that it made.
 */
export async function recordTracking(
  deps: Deps,
  workspaceId: WorkspaceId,
  {
    delivery: found,
    link,
    visit,
  }: { delivery: TrackedDelivery; link: string | null; visit: TrackedVisit },
): Promise<void> {
  await transact(deps, async (inTrx) => {
    const { db: trx, wake } = inTrx
    await lockMailTracking(trx, found.email_id)
    // Who erases the recipient holds the lock too: read before it, their address would be written again.
    const delivery = await findTrackedDelivery(trx, found.delivery_id, null)
    if (!delivery) return
    // The clock is read under the lock, so that times and commits have the same order.
    const at = deps.now()
    const stored = await countTracked(trx, workspaceId, delivery, limits.emailEventsPerRecipientMax)
    if (stored >= limits.emailEventsPerRecipientMax) return
    const isErased = !delivery.recipient.includes('@')
    const data = isErased ? {} : dataOf(link, visit)
    const made = { delivery, link, machine: visit.machine, data, at }
    const { isHeard } = await recordVisit(inTrx, workspaceId, made)
    if (!isHeard) return
    const event = { name: nameOf(link), at, data }
    const told = await insertMailEvent(trx, workspaceId, delivery.delivery_id, event, at)
    if (told) wake('dripline_mail_events')
  })
}

const nameOf = (link: string | null) => (link === null ? ('opened' as const) : ('clicked' as const))

const dataOf = (link: string | null, visit: TrackedVisit) => ({
  ...(link === null ? {} : { link }),
  ...(visit.ip === null ? {} : { ip: visit.ip }),
  user_agent: visit.userAgent,
})

interface Visit {
  delivery: TrackedDelivery
  link: string | null
  /** Why the request itself shows a machine. */
  machine: MachineReason | null
  /** What is stored of it. */
  data: ReturnType<typeof dataOf> | Record<string, never>
  at: Date
}

/**
 * Stores the email event, unless it is a repetition within `REPEAT_MS`.
 * @returns `isHeard`: a person made it and it is new, so a mail event is written for the contact
 */
async function recordVisit(
  deps: InTrx<Deps>,
  workspaceId: WorkspaceId,
  { delivery, link, machine: shown, data, at }: Visit,
): Promise<{ isHeard: boolean }> {
  const { db: trx } = deps
  const watch = link === null ? null : await watchLinks(trx, workspaceId, { delivery, link, at })
  const tooSoon = isTooSoon(delivery, at) ? 'too_soon' : null
  const machine = shown ?? tooSoon ?? watch?.machine ?? null
  const event = { status: nameOf(link), at, data, machine } as const
  const repeatsAfter = new Date(at.getTime() - REPEAT_MS)
  const isNew = await insertTracked(trx, workspaceId, delivery, event, repeatsAfter)
  if (!isNew) return { isHeard: false }
  // A scanner of the team's mail has followed no link of the contact's.
  if (watch?.scanner && !delivery.to_team) {
    const after = new Date(at.getTime() - SCAN_WINDOW_MS)
    await undoScannedUnsubscribe(deps, workspaceId, { emailId: delivery.email_id, after })
  }
  return { isHeard: machine === null }
}

function isTooSoon({ settled_at }: TrackedDelivery, at: Date): boolean {
  return settled_at === null || at.getTime() - settled_at.getTime() < TOO_SOON_MS
}

/** Decides from the clicks of the last minute whether a machine makes them, and marks those of a burst. */
async function watchLinks(
  trx: Trx,
  workspaceId: WorkspaceId,
  { delivery, link, at }: { delivery: TrackedDelivery; link: string; at: Date },
): Promise<{ machine: MachineReason | null; scanner: boolean }> {
  const since = new Date(at.getTime() - SCAN_WINDOW_MS)
  const before = await listLinkFetches(trx, workspaceId, delivery, since)
  const fetches = [...before, { at, link }]
  const burst = isBurst(fetches, at)
  const burstFrom = new Date(at.getTime() - BURST_MS)
  if (burst) await markClicks(trx, workspaceId, delivery, burstFrom, 'burst')
  return { machine: burst ? 'burst' : null, scanner: showsScanner(fetches) }
}
