// Runs one lane: claims due deliveries of its shards, sends them and settles them, until it is stopped.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { transact } from '../../commands/transact.ts'
import { type ClaimedDelivery, claimDeliveries } from '../../db/deliveries/claim.ts'
import { extendLeases, releaseDeliveries } from '../../db/deliveries/leases.ts'
import { createPulse } from '../../runtime/pulse.ts'
import { createDelivery } from '../attempt.ts'
import type { DeliveryDeps } from '../deps.ts'
import { recoverExpired } from './expiredLeases.ts'
import { createInFlight } from './inFlight.ts'
import { laneShards } from './shards.ts'
import { createShares } from './shares.ts'
import { createWarmUp } from './warmUp.ts'

const POLL_MS = 1_000
/** How often a full lane checks whether deliveries under way have become slow and make room. */
const FULL_POLL_MS = 200
/** Deliveries under way for each connection: while one is sent, the next ones are composed. */
const CLAIMS_PER_CONNECTION = 10
/** The largest claim: a larger one takes Postgres more than 5 ms. */
const CLAIM_MAX = 200
/** Slow direct deliveries that do not count towards the capacity; with a relay all deliveries count. */
const SLOW_MAX = 1_000
/** How long a stopping lane waits for its open SMTP sessions. */
const DRAIN_MS = 8_000

/** The number of a lane (from 0) and the count of lanes, which together own all shards. */
export interface Lane {
  lane: number
  lanes: number
}

/**
 * Runs a lane until `stop` is aborted. Then it stops claiming, waits for open SMTP sessions, and releases the
 * other deliveries. It keeps running while the database is away.
 */
export async function runLane(
  deps: DeliveryDeps,
  { lane, lanes }: Lane,
  stop: AbortSignal,
): Promise<void> {
  const running = createRunning(deps, laneShards(lane, lanes))
  const { inFlight, pulse, claimMin, quietly } = running
  const stopListening = deps.onDeliveries(pulse.beat)
  const upkeep = setInterval(
    () => void quietly('upkeep', running.keepUp),
    Math.max(200, deps.config.leaseMs / 4),
  )
  stop.addEventListener('abort', pulse.beat)
  try {
    while (!stop.aborted) {
      const free = Math.min(inFlight.free(), CLAIM_MAX)
      let more = false
      if (free >= claimMin) {
        await quietly('claim', async () => {
          more = await running.claim(free)
        })
      }
      // If more is due, claim again as soon as there is room.
      const full = inFlight.free() < claimMin
      running.waitForRoom(full)
      if (!more || full) await pulse.next(full ? FULL_POLL_MS : POLL_MS)
    }
  } finally {
    stop.removeEventListener('abort', pulse.beat)
    clearInterval(upkeep)
    await stopListening()
    await Promise.race([inFlight.settled(), delay(DRAIN_MS, null, { ref: false })])
    await running.giveBack()
  }
}

/** Makes the state of a running lane, and its functions that read and write deliveries. */
function createRunning(deps: DeliveryDeps, shards: { from: number; to: number }) {
  const { log, now, config, metrics } = deps
  const leaseToken = randomUUID()
  const capacity = config.smtpConnections * CLAIMS_PER_CONNECTION
  const slowMax = config.deliveryMode === 'mx' ? SLOW_MAX : 0
  const inFlight = createInFlight<ClaimedDelivery>({ capacity, slowMax })
  const shares = createShares(shards)
  const admit = createWarmUp(deps, leaseToken)
  const pulse = createPulse()
  const deliver = createDelivery(deps, leaseToken)
  const leaseUntil = () => new Date(now().getTime() + config.leaseMs)
  /** Whether the lane waits for deliveries to end. Otherwise a claim after each of them would find nothing. */
  let isFull = false
  const onSettled = () => {
    if (isFull) pulse.beat()
  }
  const waitForRoom = (full: boolean) => {
    isFull = full
  }

  const quietly = async (what: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (err) {
      log.warn({ err, shards }, `delivery lane: ${what} failed; it is tried again`)
    }
  }

  const release = (deliveries: ClaimedDelivery[]) =>
    transact.one(deps, ({ db }) => releaseDeliveries(db, deliveries, leaseToken))

  /** Claims up to `limit` deliveries and starts those that may be sent now. @returns whether more are due */
  const claim = async (limit: number): Promise<boolean> => {
    const share = shares.next(limit)
    const began = performance.now()
    const lease = { leaseToken, leaseUntil: leaseUntil(), now: now() }
    const claimed = await transact.one(deps, ({ db }) =>
      claimDeliveries(db, { ...share, limit, ...lease }),
    )
    metrics?.claimed(claimed.length, performance.now() - began)
    try {
      for (const delivery of await admit(claimed)) {
        void inFlight.add(delivery, deliver).then(onSettled)
      }
    } catch (err) {
      await release(claimed)
      throw err
    }
    return shares.learn(claimed, limit, share.perShard)
  }

  /** Extends the leases of deliveries under way, and takes over deliveries whose lease has expired. */
  const keepUp = async () => {
    const ids = inFlight.items().map(({ id }) => id)
    if (ids.length > 0) {
      await transact.one(deps, ({ db }) => extendLeases(db, ids, leaseToken, leaseUntil()))
    }
    if (await recoverExpired(deps, shards)) pulse.beat()
  }

  /**
   * Releases deliveries under way. A message that is still being written then gets no final dot, so it is not
   * delivered.
   */
  const giveBack = async () => {
    const left = inFlight.items()
    if (left.length === 0) return
    await quietly('giving leases back', () => release(left))
  }

  // A small claim costs as much as a large one, so a lane waits until half of its room is free.
  const claimMin = Math.ceil(Math.min(capacity, CLAIM_MAX) / 2)
  return { inFlight, pulse, claimMin, quietly, waitForRoom, claim, keepUp, giveBack }
}
