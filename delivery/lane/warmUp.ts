// The warm-up of new domains: what has no place today is put off to tomorrow. Transactional mail never waits: it uses
// a place, and the others get what is left.
import { LRUCache } from 'lru-cache'
import { transact } from '../../commands/transact.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import {
  changeDayPlaces,
  listColdDomains,
  lockColdDomains,
  placeDeliveries,
  setWarmedUp,
} from '../../db/domains/warmUp.ts'
import { placeOfClass } from '../../rules/mail/classes.ts'
import { movedExpiry } from '../../rules/mail/expiry.ts'
import {
  type DayPlaces,
  dayOf,
  dueTomorrow,
  isLadderOver,
  placesOf,
} from '../../rules/mail/warmUp.ts'
import type { Breakers } from '../breakers.ts'
import type { DeliveryDeps } from '../deps.ts'
import { movedAlong } from '../heldTime.ts'

/** How long a lane remembers whether a domain is warmed up. */
const REMEMBER_MS = 5_000
const REMEMBERED_MAX = 10_000
/** A place stays valid for so long after its day, for deliveries that were about to be sent at midnight. */
const GRACE_MS = 60 * 60 * 1000
const TRANSACTIONAL = placeOfClass('transactional')
/** What is stored as the last response of mail that waits for a place, and was never tried. */
const WAITS = 'it waits: its sending domain is warming up and has no place for it today'

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'config' | 'metrics'> & {
  breakers: Pick<Breakers, 'heldFor'>
}

interface Placed {
  delivery: ClaimedDelivery
  /** Today; null: it has no place. */
  slotDay: string | null
  /** When it is due; null: now. */
  nextAt: Date | null
}

/** Makes a function that returns the claimed deliveries that may be sent now. It has put off the others. */
export function createWarmUp(deps: Deps, leaseToken: string) {
  const { db, now, config, metrics, breakers } = deps
  const known = new LRUCache<string, { cold: boolean; until: number }>({ max: REMEMBERED_MAX })

  async function coldDomains(ids: Set<string>): Promise<Set<string>> {
    const time = now().getTime()
    const unknown = [...ids].filter((id) => (known.get(id)?.until ?? 0) <= time)
    if (unknown.length > 0) {
      const cold = await listColdDomains(db, unknown)
      for (const id of unknown) known.set(id, { cold: cold.has(id), until: time + REMEMBER_MS })
    }
    return new Set([...ids].filter((id) => known.get(id)?.cold))
  }

  return async (claimed: ClaimedDelivery[]): Promise<ClaimedDelivery[]> => {
    if (!config.warmUp || claimed.length === 0) return claimed
    const cold = await coldDomains(new Set(claimed.map((delivery) => delivery.domain_id)))
    const time = now()
    // What has expired but for the time that a breaker held it is tried, and so needs a place.
    const asking = claimed
      .filter((one) => cold.has(one.domain_id))
      .map((one) => movedAlong(one, breakers.heldFor(one)))
      .filter((one) => needsPlace(one, time))
    if (asking.length === 0) return claimed
    const placed = await reserve(deps, asking, leaseToken, time)
    const putOff = new Set(
      placed.filter((one) => one.nextAt !== null).map(({ delivery }) => delivery.id),
    )
    metrics?.putOff(putOff.size)
    const days = new Map(placed.map(({ delivery, slotDay }) => [delivery.id, slotDay]))
    return claimed
      .filter(({ id }) => !putOff.has(id))
      .map((one) => ({ ...one, slot_day: days.get(one.id) ?? one.slot_day }))
  }
}

/**
 * A retry keeps its place. A delivery that was never tried loses it when its day is over. What has expired needs none: it
 * will not be tried.
 */
function needsPlace({ slot_day, attempt, expires_at }: ClaimedDelivery, now: Date): boolean {
  if (expires_at <= now) return false
  if (slot_day === null) return true
  return attempt <= 1 && slot_day < dayOf(now.getTime() - GRACE_MS)
}

/** Finds places for claimed deliveries that have none and stores them, in one transaction. */
function reserve(
  { db, wake }: Deps,
  asking: ClaimedDelivery[],
  leaseToken: string,
  now: Date,
): Promise<Placed[]> {
  const today = dayOf(now.getTime())
  return transact({ db, wake }, async ({ db: trx }) => {
    const domains = await lockColdDomains(trx, [...new Set(asking.map((one) => one.domain_id))])
    const climbed = domains.filter(({ days }) => isLadderOver(days, today)).map(({ id }) => id)
    if (climbed.length > 0) await setWarmedUp(trx, climbed, now)

    const placed: Placed[] = []
    const changes: { domain_id: string; day: string; change: number }[] = []
    for (const domain of domains) {
      if (climbed.includes(domain.id)) continue
      const own = asking.filter((one) => one.domain_id === domain.id)
      const found = place(domain.days, own, now)
      placed.push(...found.placed)
      for (const [day, change] of found.changes) changes.push({ domain_id: domain.id, day, change })
    }
    if (placed.length === 0) return []
    await changeDayPlaces(trx, changes)
    const rows = placed.map(({ delivery, slotDay, nextAt }) => ({
      id: delivery.id,
      was: delivery.was,
      slot_day: slotDay,
      next_at: nextAt,
      expires_at: nextAt && movedExpiry(delivery, nextAt.getTime() - now.getTime()),
    }))
    await placeDeliveries(trx, rows, leaseToken, WAITS)
    return placed
  })
}

/** Finds places for deliveries of one domain. Their unused places of past days are given up first. */
function place(days: DayPlaces[], asking: ClaimedDelivery[], now: Date) {
  const today = dayOf(now.getTime())
  const changes = new Map<string, number>()
  const change = (day: string, by: number) => changes.set(day, (changes.get(day) ?? 0) + by)
  for (const { slot_day } of asking) if (slot_day !== null) change(slot_day, -1)
  const given = days.map(({ day, reserved }) => ({
    day,
    reserved: Math.max(0, reserved + (changes.get(day) ?? 0)),
  }))

  const inOrder = [...asking].sort(byTurn)
  let left = placesOf(given, today).left
  const placed = inOrder.map((delivery): Placed => {
    left -= 1
    const hasPlace = delivery.class === TRANSACTIONAL || left >= 0
    if (!hasPlace) {
      const nextAt = new Date(dueTomorrow(delivery.class, now.getTime()))
      return { delivery, slotDay: null, nextAt }
    }
    change(today, 1)
    return { delivery, slotDay: today, nextAt: null }
  })
  return { placed, changes }
}

/** By class, and of a class what is due longest. */
function byTurn(a: ClaimedDelivery, b: ClaimedDelivery): number {
  return a.class - b.class || a.next_at.getTime() - b.next_at.getTime() || a.id - b.id
}
