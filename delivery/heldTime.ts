// The expiry of automation and broadcast mail moves along with the time that breakers keep it waiting, so that it keeps the
// time it has left, up to seven days after its acceptance. Transactional mail expires as always.
import type { ClaimedDelivery } from '../db/deliveries/claim.ts'
import type { Settlement } from '../db/deliveries/settle.ts'
import { placeOfClass } from '../rules/mail/classes.ts'
import { movedExpiry } from '../rules/mail/expiry.ts'
import { waitingStates } from '../rules/states.ts'

const TRANSACTIONAL = placeOfClass('transactional')

type Expiring = Pick<ClaimedDelivery, 'class' | 'created_at' | 'expires_at'>

/** A claimed delivery with the expiry that it has now. @param held_ms how long it stood due while a breaker was open for it */
export function movedAlong<Delivery extends Expiring>(
  delivery: Delivery,
  held_ms: number,
): Delivery {
  if (delivery.class === TRANSACTIONAL || held_ms <= 0) return delivery
  return { ...delivery, expires_at: movedExpiry(delivery, held_ms) }
}

/**
 * A settlement with the expiry to store. It costs no write of its own.
 * @param delivery as claimed
 * @param moved what `movedAlong` made of it
 * @param isHeld whether it is due again only later since a breaker is open for it
 * @param since until when `moved` has counted
 */
export function keepTime(
  settlement: Settlement,
  {
    delivery,
    moved,
    isHeld,
    since,
  }: { delivery: Expiring; moved: Expiring; isHeld: boolean; since: Date },
): Settlement {
  const { nextAt, state } = settlement
  if (delivery.class === TRANSACTIONAL || !waitingStates.some((waiting) => waiting === state))
    return settlement
  const wait_ms = isHeld && nextAt ? Math.max(0, nextAt.getTime() - since.getTime()) : 0
  const expiresAt = movedExpiry(moved, wait_ms)
  return expiresAt > delivery.expires_at ? { ...settlement, expiresAt } : settlement
}
