// Sends to one endpoint that this worker has: what is due, in order, some at a time, until nothing is or the endpoint has to rest.
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '../../db/connect.ts'
import { isPassing } from '../../db/failures.ts'
import type { DueWebhookDelivery, TakenWebhook } from '../../db/webhooks/lanes.ts'
import type { SettledTry } from '../../db/webhooks/settle.ts'
import { limits } from '../../rules/limits.ts'
import { restsAfterFailures } from '../../rules/webhooks/outcome.ts'
import type { QueuedBytes } from './queuedBytes.ts'
import { createQueue, createReads } from './reads.ts'

export interface EndpointDeps {
  db: Db
  attempt: (webhook: TakenWebhook, due: DueWebhookDelivery) => Promise<SettledTry>
  /** Writes how a try ended. `isAgain`: it was not written before. */
  settle: (one: SettledTry, isAgain: boolean) => Promise<void>
  /** Whether this worker may begin another try: it has the endpoint and does not stop. */
  mayBegin: (webhook: TakenWebhook) => boolean
  /** Counts the bodies that this worker has read and not begun. */
  queued: QueuedBytes
  /** Takes a place for one more try, without waiting. @returns what gives it back; null: there is none */
  takePlace: (isHealthy: boolean, workspaceId: string) => (() => void) | null
}

/** Tries that have ended and are not written yet, beyond which none is begun. */
const UNSETTLED_MAX = 400
/** The first pause before a try is written again, and the longest. */
const AGAIN_MS = 200
const AGAIN_MS_MAX = 2_000

/**
 * Sends what is due. One that is not proven gets one request at a time, so that endpoints where nobody is take few
 * places. One that fails again and again gets one, after which it rests.
 * @param firstPlace gives back the place with which it was taken
 * @returns whether anything has succeeded
 */
export async function serveEndpoint(
  deps: EndpointDeps,
  webhook: TakenWebhook,
  firstPlace: () => void,
): Promise<boolean> {
  const hand = createHand(deps, webhook)
  const queue = createQueue(deps.queued)
  const reads = createReads(deps, webhook, hand, queue)
  let place: (() => void) | null = firstPlace
  try {
    for (;;) {
      if (queue.dropOld()) reads.forget()
      while (hand.room() > 0 && queue.length() > 0) {
        const taken = place ?? deps.takePlace(hand.isHealthy(), webhook.workspace_id)
        place = null
        if (!taken) break
        const due = queue.shift()
        if (due) hand.begin(due, taken)
      }
      if (hand.mayGoOn()) reads.readAhead()
      if (!hand.isBusy() && !reads.isUnderWay()) return hand.isServed()
      await hand.change()
      reads.throwFault()
    }
  } finally {
    place?.()
    await reads.ended()
    queue.drop()
    await hand.empty()
  }
}

/** @returns `change` waits until `changed` or `moved` is called, of which `moves` counts the second; one waits at a time */
function createChange() {
  let resolve = () => {}
  let moves = 0
  return {
    changed: () => resolve(),
    moved() {
      moves += 1
      resolve()
    },
    moves: () => moves,
    change: () =>
      new Promise<void>((given) => {
        resolve = given
      }),
  }
}

/** What the tries of an endpoint have shown of it. */
function createRecord({ failures, is_proven: isProven }: TakenWebhook) {
  let isServed = false
  let isOver = false
  return {
    note({ state, is_gone }: SettledTry) {
      const hasSucceeded = state === 'succeeded'
      failures = hasSucceeded ? 0 : failures + 1
      isProven ||= hasSucceeded
      isServed ||= hasSucceeded
      if (is_gone || failures >= restsAfterFailures) isOver = true
    },
    /** Says that nothing more is begun. */
    end() {
      isOver = true
    },
    isOver: () => isOver,
    isServed: () => isServed,
    isHealthy: () => isProven && failures === 0,
    /** Requests that it may have under way. */
    most: () => (isProven && failures < restsAfterFailures ? limits.webhookUnderWayMax : 1),
  }
}

/** What is under way at an endpoint: requests, and those that have ended and are not written yet. */
function createHand(deps: EndpointDeps, webhook: TakenWebhook) {
  const open = new Map<string, Promise<void>>()
  const unsettled = new Map<string, Promise<void>>()
  const { change, changed, moved, moves } = createChange()
  const { note, end, isOver, isServed, isHealthy, most } = createRecord(webhook)

  /** Nothing more is begun once a try was not written. It is written again for as long as the endpoint is this worker's. */
  const untilWritten = async (one: SettledTry) => {
    for (let again_ms = AGAIN_MS; ; again_ms = Math.min(2 * again_ms, AGAIN_MS_MAX)) {
      try {
        return await deps.settle(one, again_ms > AGAIN_MS)
      } catch (err) {
        end()
        // It is due still, and is tried again by whoever has the endpoint next.
        if (!isPassing(err) || !deps.mayBegin(webhook)) return
        await delay(again_ms)
      }
    }
  }
  const settle = (one: SettledTry) => {
    const work = untilWritten(one).then(() => {
      unsettled.delete(one.id)
      if (open.size === 0) moved()
    })
    unsettled.set(one.id, work)
  }
  const mayGoOn = () => !isOver() && deps.mayBegin(webhook)

  return {
    mayGoOn,
    isHealthy,
    isServed,
    isBusy: () => open.size + unsettled.size > 0,
    ids: () => [...open.keys(), ...unsettled.keys()],
    room() {
      if (!mayGoOn() || unsettled.size >= UNSETTLED_MAX) return 0
      return most() - open.size
    },
    begin(due: DueWebhookDelivery, giveBack: () => void) {
      const work = deps.attempt(webhook, due).then((one) => {
        giveBack()
        open.delete(due.id)
        note(one)
        settle(one)
        moved()
      })
      open.set(due.id, work)
    },
    /** How often a request has ended or, where none was open, a try was written. */
    moves,
    /** Resolves when one of both happens, and when `changed` is called. */
    change,
    changed,
    async empty() {
      await Promise.allSettled(open.values())
      await Promise.allSettled(unsettled.values())
    },
  }
}
