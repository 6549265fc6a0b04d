// One random history of people who leave and come back while mail to them waits, is tried and settled, beside a model of what
// must be true.
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { takeReport } from '../../commands/reports/take.ts'
import { transact } from '../../commands/transact.ts'
import { followUnsubscribe } from '../../commands/unsubscribes/follow.ts'
import { settleDueLeaves } from '../../commands/unsubscribes/settleDue.ts'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { undoUnsubscribe } from '../../commands/unsubscribes/undo.ts'
import { undoScannedUnsubscribe } from '../../commands/unsubscribes/undoScanned.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { extendLeases, releaseDeliveries } from '../../db/deliveries/leases.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import type { Settlement } from '../../db/deliveries/settle.ts'
import { findUnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { settle } from '../../delivery/lane/settle.ts'
import type { createTestApi } from './api.ts'
import type { createLeavers, Leaver, WaitingMail } from './leavers.ts'
import { endLeases } from './queue.ts'
import type { createRandom } from './random.ts'

export const MINUTE_MS = 60_000

export interface Person extends Leaver {
  /** When they left, and whether only a GET says so. */
  left: { at: number; isCertain: boolean; emailId: string } | null
  isSuppressed: boolean
  isCancelled: boolean
  last: WaitingMail
}

interface Mail extends WaitingMail {
  person: Person
  isReceipt: boolean
  /** Whether at any time since it was written something was true that ends it. */
  mayEnd: boolean
}

const hasLeftForGood = ({ left }: Person, time: number) =>
  left !== null && (left.isCertain || left.at + MINUTE_MS <= time)
const mustEnd = ({ person, isReceipt }: Mail, time: number) =>
  person.isSuppressed || (!isReceipt && (person.isCancelled || hasLeftForGood(person, time)))
const isStopped = (one: Mail, time: number) =>
  mustEnd(one, time) || (!one.isReceipt && one.person.left !== null)

/**
 * @param given `leavers` of that API; `clock` is the API's; `seed` is named where something is wrong
 */
export async function createLeaverHistory(given: {
  api: Awaited<ReturnType<typeof createTestApi>>
  leavers: Awaited<ReturnType<typeof createLeavers>>
  clock: { time: number }
  random: ReturnType<typeof createRandom>
  seed: number
}) {
  const { api, clock, random, seed } = given
  const { db, deps, workspaceId } = api
  const { mail, leaver, claim } = given.leavers
  const at = (ms = 0) => new Date(clock.time + ms)
  const mails = new Map<number, Mail>()
  const underWay = new Map<number, { delivery: ClaimedDelivery; token: string }>()
  const people: Person[] = []

  const write = async (person: Person, isReceipt: boolean) => {
    const written = await mail(person, isReceipt ? 'transactional' : 'marketing')
    mails.set(written.deliveryId, { ...written, person, isReceipt, mayEnd: false })
    if (!isReceipt) person.last = written
  }
  for (let i = 0; i < 3; i++) {
    const nobody = { emailId: '', deliveryId: 0, token: '', copyIds: [] }
    const person: Person = {
      ...(await leaver()),
      left: null,
      isSuppressed: false,
      isCancelled: false,
      last: nobody,
    }
    people.push(person)
    await write(person, false)
  }
  const note = () => {
    for (const one of mails.values()) one.mayEnd ||= mustEnd(one, clock.time)
  }

  const claimAll = async (stopped: Set<number>, isAlone: boolean) => {
    const token = randomUUID()
    const due = await db
      .selectFrom('deliveries')
      .select('id')
      .where('settled_at', 'is', null)
      .where('lease_until', 'is', null)
      .where('next_at', '<=', at())
      .execute()
    const claimed = await claim(token)
    for (const delivery of claimed) {
      expect(stopped.has(delivery.id), `seed ${seed}: mail to somebody who left`).toBe(false)
      expect(underWay.has(delivery.id), `seed ${seed}: claimed twice`).toBe(false)
      underWay.set(delivery.id, { delivery, token })
    }
    if (!isAlone) return
    const got = new Set(claimed.map(({ id }) => id))
    const missing = due.filter(({ id }) => !stopped.has(id) && !got.has(id))
    expect(missing, `seed ${seed}: due mail was not claimed`).toEqual([])
  }
  const stoppedNow = () =>
    new Set(
      [...mails.values()]
        .filter((one) => isStopped(one, clock.time))
        .map(({ deliveryId }) => deliveryId),
    )

  const endOne = async (how: 'delivered' | 'deferred' | 'gone' | 'released' | 'expired') => {
    const [held] = [...underWay.values()]
    if (!held) return
    const { delivery, token } = held
    const { id } = delivery
    underWay.delete(id)
    const inOne = <T>(work: Parameters<typeof transact.one<typeof deps, T>>[1]) =>
      transact.one(deps, work)
    const end = (over: Partial<Settlement>): Settlement => ({
      id,
      state: 'deferred',
      nextAt: at(random.between(0, 30_000)),
      response: null,
      resent: 0,
      counted: true,
      event: null,
      suppress: 'no',
      attempt: null,
      ...over,
    })
    if (how === 'released') {
      await inOne(({ db: trx }) => releaseDeliveries(trx, [delivery], token))
    } else if (how === 'expired') {
      await endLeases(db, [id])
      await settle(deps, [end({ state: 'queued', leaves: 'sending', nextAt: at() })], null)
    } else if (how === 'deferred') {
      await settle(deps, [end({})], token)
    } else if (how === 'delivered') {
      await inOne(({ db: trx }) => extendLeases(trx, [id], token, MINUTE_MS))
      const marked = await inOne(({ db: trx }) => markDataSent(trx, [id], token, at()))
      // Who has left since the claim gets no dot.
      if (marked.has(id)) await settle(deps, [end({ state: 'delivered' })], token)
      else await inOne(({ db: trx }) => releaseDeliveries(trx, [delivery], token))
    } else {
      await settle(deps, [end({ state: 'bounced', suppress: 'for_good' })], token)
      const one = mails.get(id)
      if (one) one.person.isSuppressed = true
    }
  }

  const leave = async (person: Person, how: 'post' | 'mail' | 'get' | 'complaint') => {
    const { last, left } = person
    const found = await findUnsubscribeMail(db, last.token)
    if (!found) throw new Error('the mail has no link')
    if (how === 'get') {
      await followUnsubscribe(deps, workspaceId, { mail: found, by: 'get' })
      person.left ??= { at: clock.time, isCertain: false, emailId: last.emailId }
      return
    }
    if (how === 'post') await followUnsubscribe(deps, workspaceId, { mail: found, by: 'post' })
    if (how === 'mail') await takeUnsubscribe(deps, last.token)
    if (how === 'complaint') {
      await takeReport(deps, last.deliveryId, { kind: 'complaint', feedbackType: 'abuse' })
      person.isSuppressed = true
    }
    // What was certain before was carried out before.
    if (!left?.isCertain) person.isCancelled = true
    person.left = { at: left?.at ?? clock.time, isCertain: true, emailId: last.emailId }
  }
  const undo = async (person: Person, how: 'undo' | 'scan') => {
    const { last, left } = person
    if (how === 'scan') {
      if (left === null) return
      const after = at(-MINUTE_MS)
      await transact(deps, (inTrx) =>
        undoScannedUnsubscribe(inTrx, workspaceId, { emailId: left.emailId, after }),
      )
      if (!left.isCertain && left.at > after.getTime()) person.left = null
      return
    }
    const found = await findUnsubscribeMail(db, last.token)
    if (found) await undoUnsubscribe(deps, workspaceId, found)
    person.left = null
  }
  const settleDue = async () => {
    await settleDueLeaves(deps, (err) => {
      throw err
    })
    for (const person of people) {
      if (!person.left || person.left.isCertain || !hasLeftForGood(person, clock.time)) continue
      person.left.isCertain = true
      person.isCancelled = true
    }
  }
  return {
    people,
    mails,
    underWay,
    note,
    write,
    claimAll,
    stoppedNow,
    endOne,
    leave,
    undo,
    settleDue,
  }
}
