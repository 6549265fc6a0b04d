// Moves or cancels mail that waits for the time for which it is scheduled.

import type { Trx } from '../../db/connect.ts'
import {
  cancelScheduled,
  hastenScheduled,
  lockScheduled,
  moveScheduled,
  renewScheduledEvents,
} from '../../db/deliveries/scheduled.ts'
import { isId } from '../../rules/ids.ts'
import { expiry_ms } from '../../rules/mail/retry.ts'
import { scheduledFor } from '../../rules/mail/scheduledAt.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake' | 'config'>
type NotScheduled = Refusal<'email_not_found' | 'email_not_scheduled'>

/**
 * Moves an email to another time; one that has come sends it now. Whoever has the lock of its deliveries first wins: this one, or the
 * lane whose clock says that it is due.
 * @param asked in ms, as `readScheduledAt` gives it
 * @returns `cancelled` where it would be sent now and its domain is deleted or may not send any more: this has settled it
 */
export function rescheduleEmail(
  deps: Deps,
  reach: Reach,
  { id, asked }: { id: string; asked: number },
): Promise<{ id: string; status: 'scheduled' | 'queued' | 'cancelled' } | NotScheduled> {
  return transact(deps, async ({ db, now, wake, config: rights }) => {
    const refusal = await lock(db, reach, id)
    if (refusal) return refusal
    const time = now()
    const later = scheduledFor(asked, time)
    const at = later ?? time
    const expiresAt = new Date(at.getTime() + expiry_ms.transactional)
    await moveScheduled(db, reach, id, { at, expiresAt })
    if (later) {
      await renewScheduledEvents(db, reach, id, time)
      return { id, status: 'scheduled' as const }
    }
    const { count, told } = await hastenScheduled(db, reach, id, { now: time, rights })
    if (told) wake('dripline_mail_events')
    if (count === 0) return { id, status: 'cancelled' as const }
    return { id, status: 'queued' as const }
  })
}

/** Cancels an email for all recipients that are not settled. They get the event of what was stopped: it suppresses nobody. */
export function cancelEmail(
  deps: Deps,
  reach: Reach,
  id: string,
): Promise<{ id: string; status: 'cancelled' } | NotScheduled> {
  return transact(deps, async ({ db, now }) => {
    const refusal = await lock(db, reach, id)
    if (refusal) return refusal
    await cancelScheduled(db, reach, id, now())
    return { id, status: 'cancelled' as const }
  })
}

async function lock(db: Trx, reach: Reach, id: string): Promise<NotScheduled | undefined> {
  const waits = isId('email', id) ? await lockScheduled(db, reach, id) : undefined
  if (waits === undefined) return refuse('email_not_found', { id })
  return waits ? undefined : refuse('email_not_scheduled', { id })
}
