// The emails that a workspace may send in a day: mail of its workflows and broadcasts that has no place today is put off to
// tomorrow. Mail of the API has its place since it was accepted.
import { LRUCache } from 'lru-cache'
import type { DailyLimit } from '../../commands/limits/daily.ts'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { changeDayPlaces, lockColdDomains, placeDeliveries } from '../../db/domains/warmUp.ts'
import { listOwnEmails } from '../../db/emails/contents.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { placeOfClass } from '../../rules/mail/classes.ts'
import { movedExpiry } from '../../rules/mail/expiry.ts'
import { dayOf, dueTomorrow } from '../../rules/mail/warmUp.ts'
import type { Breakers } from '../breakers.ts'
import type { DeliveryDeps } from '../deps.ts'
import { movedAlong } from '../heldTime.ts'

const TRANSACTIONAL = placeOfClass('transactional')
/** Emails that have a place and wait for their first attempt, of all lanes of a process. A lost one takes another place. */
const PLACED_MAX = 100_000

/** What is stored as the last response of mail that waits for a place, and was never tried. */
const WAITS = 'it waits: its workspace has sent as many emails today as it may'

/** Emails that have a place, with its day. */
export type PlacedEmails = LRUCache<string, string>

export const createPlacedEmails = (): PlacedEmails => new LRUCache({ max: PLACED_MAX })

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake'> & {
  breakers: Pick<Breakers, 'heldFor'>
  daily: Pick<DailyLimit, 'fresh' | 'isLimited' | 'takeUpTo'>
  placed: PlacedEmails
}

/** Makes a function that returns the claimed deliveries that may be sent today. It has put off the others. */
export function createDayLimit(deps: Deps, leaseToken: string) {
  const { db, now, daily, breakers, placed } = deps

  /** What is tried for the first time and was not counted when it was accepted. */
  async function asking(limited: ClaimedDelivery[], time: Date): Promise<ClaimedDelivery[]> {
    const untried = limited
      .map((one) => movedAlong(one, breakers.heldFor(one)))
      .filter((one) => one.attempt <= 1 && one.expires_at > time)
    const doubtful = untried.filter((one) => one.class === TRANSACTIONAL)
    const ofApi =
      doubtful.length === 0
        ? new Set<string>()
        : await listOwnEmails(
            db,
            doubtful.map((one) => one.email_id),
          )
    return untried.filter(({ email_id }) => !ofApi.has(email_id))
  }

  /** Takes places for emails of one workspace, in the order in which they go. @returns what has none */
  async function takePlaces(workspaceId: WorkspaceId, own: ClaimedDelivery[], time: Date) {
    const day = dayOf(time.getTime())
    const inOrder = [...own].sort(byTurn)
    const emails = [...new Set(inOrder.map(({ email_id }) => email_id))].filter(
      (id) => placed.get(id) !== day,
    )
    const count = emails.length === 0 ? 0 : await daily.takeUpTo(workspaceId, emails.length)
    for (const id of emails.slice(0, count)) placed.set(id, day)
    const without = new Set(emails.slice(count))
    return inOrder.filter(({ email_id }) => without.has(email_id))
  }

  return async (claimed: ClaimedDelivery[]): Promise<ClaimedDelivery[]> => {
    if (claimed.length === 0) return claimed
    await daily.fresh()
    const limited = claimed.filter((one) => daily.isLimited(one.workspace_id))
    if (limited.length === 0) return claimed
    const time = now()
    const all = await asking(limited, time)
    const late: ClaimedDelivery[] = []
    for (const workspaceId of new Set(all.map((one) => one.workspace_id))) {
      const own = all.filter((one) => one.workspace_id === workspaceId)
      late.push(...(await takePlaces(workspaceId, own, time)))
    }
    if (late.length === 0) return claimed
    const rows = late.map((delivery) => {
      const nextAt = new Date(dueTomorrow(delivery.class, time.getTime()))
      const wait_ms = nextAt.getTime() - time.getTime()
      const expires_at = movedExpiry(delivery, wait_ms)
      return { id: delivery.id, was: delivery.was, slot_day: null, next_at: nextAt, expires_at }
    })
    await transact(deps, async ({ db: trx }) => {
      await giveBackPlaces(trx, late)
      await placeDeliveries(trx, rows, leaseToken, WAITS)
    })
    const putOff = new Set(late.map(({ id }) => id))
    return claimed.filter(({ id }) => !putOff.has(id))
  }
}

/** Gives back their places in the warm-up of their domains: without mail a domain does not warm up. */
async function giveBackPlaces(trx: Trx, late: readonly ClaimedDelivery[]): Promise<void> {
  const placed = late.flatMap(({ domain_id, slot_day: day }) =>
    day === null ? [] : [{ domain_id, day }],
  )
  if (placed.length === 0) return
  const cold = await lockColdDomains(trx, [...new Set(placed.map(({ domain_id }) => domain_id))])
  const changes = new Map<string, { domain_id: string; day: string; change: number }>()
  for (const { domain_id, day } of placed) {
    if (!cold.some(({ id }) => id === domain_id)) continue
    const key = `${domain_id} ${day}`
    changes.set(key, { domain_id, day, change: (changes.get(key)?.change ?? 0) - 1 })
  }
  if (changes.size > 0) await changeDayPlaces(trx, [...changes.values()])
}

/** By class, and of a class what is due longest. */
function byTurn(a: ClaimedDelivery, b: ClaimedDelivery): number {
  return a.class - b.class || a.next_at.getTime() - b.next_at.getTime() || a.id - b.id
}
