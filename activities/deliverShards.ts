// The activity of a delivery lane: claims due deliveries of its shards, sends them, settles them, until it is stopped.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApplicationFailure, Context } from '@temporalio/activity'
import { type ClaimedDelivery, claimDeliveries } from '../db/deliveries/claim.ts'
import { extendLeases, releaseDeliveries } from '../db/deliveries/leases.ts'
import { createDelivery } from '../delivery/attempt.ts'
import type { ActivityDeps } from '../delivery/deps.ts'
import { recoverExpired } from '../delivery/lane/expiredLeases.ts'
import { createInFlight } from '../delivery/lane/inFlight.ts'
import { laneShards } from '../delivery/lane/shards.ts'
import { createShares } from '../delivery/lane/shares.ts'
import { createWarmUp } from '../delivery/lane/warmUp.ts'
import { createPulse } from '../runtime/pulse.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'

const HEARTBEAT_MS = 2_000
const POLL_MS = 1_000
/** A full lane looks this often whether what it has under way has become slow, and counts no more. */
const FULL_POLL_MS = 200
/** The activity returns now and then, so that its workflow can take up new code and a fresh history. */
const TURN_MS = 20 * 60 * 1000
/** Mails under way for each connection: while one is on the wire the next are being composed. */
const CLAIMS_PER_CONNECTION = 10
/** More at a time would hold Postgres for over 5 ms. */
const CLAIM_MAX = 200
/** Direct deliveries that may wait for slow servers beside those that count; a relay is waited for. */
const SLOW_MAX = 1_000
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
      const shards = laneShards(lane, lanes)
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
  const { db, log, now, config, metrics } = deps
  const leaseToken = randomUUID()
  const capacity = config.smtpConnections * CLAIMS_PER_CONNECTION
  const slowMax = config.deliveryMode === 'mx' ? SLOW_MAX : 0
  // Small claims cost as much as large ones.
  const claimMin = Math.ceil(Math.min(capacity, CLAIM_MAX) / 2)
  const inFlight = createInFlight<ClaimedDelivery>({ capacity, slowMax })
  const shares = createShares(shards)
  const admit = createWarmUp(deps, leaseToken)
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
        const ids = inFlight.items().map(({ id }) => id)
        if (ids.length > 0) await extendLeases(db, ids, leaseToken, leaseUntil())
        if (await recoverExpired(deps, shards)) pulse.beat()
      }),
    Math.max(200, config.leaseMs / 4),
  )
  const onStop = () => pulse.beat()
  stop.addEventListener('abort', onStop)

  /** Claims up to so many, and begins those that may go now. @returns whether more is due */
  const claim = async (limit: number): Promise<boolean> => {
    const share = shares.next(limit)
    const began = performance.now()
    const claimed = await claimDeliveries(db, {
      ...share,
      limit,
      leaseToken,
      leaseUntil: leaseUntil(),
      now: now(),
    })
    metrics?.claimed(claimed.length, performance.now() - began)
    try {
      for (const delivery of await admit(claimed)) {
        void inFlight.add(delivery, deliver).then(pulse.beat)
      }
    } catch (err) {
      await releaseDeliveries(db, claimed, leaseToken)
      throw err
    }
    return shares.learn(claimed, limit, share.perShard)
  }

  try {
    while (!stop.aborted && Date.now() < endsAt) {
      const free = Math.min(inFlight.free(), CLAIM_MAX)
      let more = false
      if (free >= claimMin) {
        await quietly('claim', async () => {
          more = await claim(free)
        })
      }
      // More is due: look again as soon as there is room.
      const full = inFlight.free() < claimMin
      if (!more || full) await pulse.next(full ? FULL_POLL_MS : POLL_MS)
    }
  } finally {
    stop.removeEventListener('abort', onStop)
    clearInterval(upkeep)
    await stopListening()
    await Promise.race([inFlight.settled(), delay(DRAIN_MS, null, { ref: false })])
    // Without its lease a mail that is still being written gets no dot.
    const left = inFlight.items()
    if (left.length > 0) {
      await quietly('giving leases back', () => releaseDeliveries(db, left, leaseToken))
    }
    clearInterval(beats)
  }
}
