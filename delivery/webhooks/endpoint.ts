// Sends to one endpoint that this worker has: what is due, in order, some at a time, until nothing is or the endpoint has to rest.
import type { Db } from '../../db/connect.ts'
import type { DueWebhookDelivery, TakenWebhook } from '../../db/webhooks/lanes.ts'
import type { SettledTry } from '../../db/webhooks/settle.ts'
import { limits } from '../../rules/limits.ts'
import { restsAfterFailures } from '../../rules/webhooks/outcome.ts'
import type { QueuedBytes } from './queuedBytes.ts'
import { createQueue, createReads } from './reads.ts'

export interface EndpointDeps {
  db: Db
  attempt: (webhook: TakenWebhook, due: DueWebhookDelivery) => Promise<SettledTry>
  /** Writes how a try ended. */
  settle: (one: SettledTry) => Promise<void>
  /** Whether this worker may begin another try: it has the endpoint and does not stop. */
  mayBegin: (webhook: TakenWebhook) => boolean
  /** Counts the bodies that this worker has read and not begun. */
  queued: QueuedBytes
  /** Takes a place for one more try, without waiting. @returns what gives it back; null: there is none */
  takePlace: (isHealthy: boolean, workspaceId: string) => (() => void) | null
}

/** Tries that have ended and are not written yet, beyond which none is begun. */
const UNSETTLED_MAX = 400

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

/** @returns `change` waits until `changed` is called; one waits at a time */
function createChange() {
  let resolve = () => {}
  return {
    changed: () => resolve(),
    change: () =>
      new Promise<void>((given) => {
        resolve = given
      }),
  }
}

/** What is under way at an endpoint: requests, and those that have ended and are not written yet. */
function createHand(deps: EndpointDeps, webhook: TakenWebhook) {
  const open = new Map<string, Promise<void>>()
  const unsettled = new Map<string, Promise<void>>()
  const { change, changed } = createChange()
  let { failures, is_proven } = webhook
  let isServed = false
  let isOver = false
  let moves = 0

  const moved = () => {
    moves += 1
    changed()
  }
  const note = ({ state, is_gone }: SettledTry) => {
    const hasSucceeded = state === 'succeeded'
    failures = hasSucceeded ? 0 : failures + 1
    is_proven ||= hasSucceeded
    isServed ||= hasSucceeded
    if (is_gone || failures >= restsAfterFailures) isOver = true
  }
  const settle = (one: SettledTry) => {
    const written = () => {
      unsettled.delete(one.id)
      if (open.size === 0) moved()
    }
    const work = deps.settle(one).then(written, () => {
      // It is due still, and the worker that has the endpoint next tries it again.
      isOver = true
      written()
    })
    unsettled.set(one.id, work)
  }
  const mayGoOn = () => !isOver && deps.mayBegin(webhook)

  return {
    mayGoOn,
    isHealthy: () => is_proven && failures === 0,
    isServed: () => isServed,
    isBusy: () => open.size + unsettled.size > 0,
    ids: () => [...open.keys(), ...unsettled.keys()],
    room() {
      if (!mayGoOn() || unsettled.size >= UNSETTLED_MAX) return 0
      const most = is_proven && failures < restsAfterFailures ? limits.webhookUnderWayMax : 1
      return most - open.size
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
    moves: () => moves,
    /** Resolves when one of both happens, and when `changed` is called. */
    change,
    changed,
    async empty() {
      await Promise.allSettled(open.values())
      await Promise.allSettled(unsettled.values())
    },
  }
}
