// The activity of a delivery lane: claims due deliveries of its shards, sends them, settles them, until it is stopped.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApplicationFailure, Context } from '@temporalio/activity'
import {
  type ClaimedDelivery,
  claimDeliveries,
  extendLeases,
  releaseDeliveries,
} from '../db/deliveries.ts'
import { limits } from '../domain/limits.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'
import { createDelivery } from './delivery.ts'
import type { ActivityDeps } from './deps.ts'
import { recoverExpired } from './expiredLeases.ts'

const HEARTBEAT_MS = 2_000
const POLL_MS = 1_000
/** The activity returns now and then, so that its workflow can take up new code and a fresh history. */
const TURN_MS = 20 * 60 * 1000
/** Mails under way for each connection: while one is on the wire the next are being composed. */
const CLAIMS_PER_CONNECTION = 3
const CLAIM_MAX = 500
/** How long a stopping lane waits for what is on the wire. */
const DRAIN_MS = 8_000

export function deliveryActivities(deps: ActivityDeps) {
  return {
    /**
     * Delivers the shards of one lane. Returns after its turn; throws a retryable failure when this worker stops,
     * so that the lane starts again on another one at once.
     */
    async deliverShards({ lane, lanes }: DeliveryLaneInput): Promise<void> {
      const context = Context.current()
      const shards = {
        from: Math.floor((lane * limits.shards) / lanes),
        to: Math.floor(((lane + 1) * limits.shards) / lanes),
      }
      const stop = AbortSignal.any([context.cancellationSignal, deps.stopping])
      await runLane(deps, shards, stop, () => context.heartbeat())
      if (context.cancellationSignal.aborted) await context.cancelled
      if (deps.stopping.aborted)
        throw ApplicationFailure.retryable('the worker stops', 'LaneHandedOver')
    },
  }
}

async function runLane(
  deps: ActivityDeps,
  shards: { from: number; to: number },
  stop: AbortSignal,
  heartbeat: () => void,
): Promise<void> {
  const { db, log, now, config } = deps
  const leaseToken = randomUUID()
  const capacity = config.smtpConnections * CLAIMS_PER_CONNECTION
  const inFlight = new Map<number, Promise<void>>()
  const pulse = createPulse()
  const deliver = createDelivery(deps, leaseToken)
  const endsAt = Date.now() + TURN_MS
  const leaseUntil = () => new Date(now().getTime() + config.leaseMs)

  const quietly = async (what: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (err) {
      log.warn({ err, shards }, `delivery lane: ${what} failed; it is tried again`)
    }
  }

  const stopListening = deps.onDeliveries(pulse.beat)
  const beats = setInterval(heartbeat, HEARTBEAT_MS)
  const upkeep = setInterval(
    () =>
      void quietly('upkeep', async () => {
        if (inFlight.size > 0)
          await extendLeases(db, [...inFlight.keys()], leaseToken, leaseUntil())
        if (await recoverExpired(deps, shards)) pulse.beat()
      }),
    Math.max(200, config.leaseMs / 4),
  )
  const onStop = () => pulse.beat()
  stop.addEventListener('abort', onStop)

  try {
    while (!stop.aborted && Date.now() < endsAt) {
      const free = Math.min(capacity - inFlight.size, CLAIM_MAX)
      let claimed: ClaimedDelivery[] = []
      if (free >= Math.ceil(capacity / 2)) {
        await quietly('claim', async () => {
          const claim = { shards, limit: free, leaseToken, leaseUntil: leaseUntil(), now: now() }
          claimed = await claimDeliveries(db, claim)
        })
      }
      for (const delivery of claimed) {
        const work = deliver(delivery).finally(() => {
          inFlight.delete(delivery.id)
          pulse.beat()
        })
        inFlight.set(delivery.id, work)
      }
      // A full claim means that more is due: look again as soon as there is room.
      if (claimed.length < free || inFlight.size > capacity / 2) await pulse.next(POLL_MS)
    }
  } finally {
    stop.removeEventListener('abort', onStop)
    clearInterval(upkeep)
    await stopListening()
    await Promise.race([Promise.all(inFlight.values()), delay(DRAIN_MS, null, { ref: false })])
    // Without its lease a mail that is still being written gets no dot.
    const left = [...inFlight.keys()]
    if (left.length > 0) {
      await quietly('giving leases back', () => releaseDeliveries(db, left, leaseToken))
    }
    clearInterval(beats)
  }
}

/** A wake-up that is never missed: a beat between two waits ends the next one at once. */
function createPulse() {
  let beaten = false
  let wake: (() => void) | undefined
  return {
    beat() {
      beaten = true
      wake?.()
    },
    async next(timeout_ms: number) {
      if (!beaten) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeout_ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wake = undefined
      }
      beaten = false
    },
  }
}
