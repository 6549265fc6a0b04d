// Runs one lane: takes it, claims due deliveries of its shards, sends them and settles them, until it is stopped or a
// newer owner has taken it. It knows no Temporal.
import { transact } from '../../commands/transact.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { extendLeases, releaseDeliveries } from '../../db/deliveries/leases.ts'
import type { InLine, ShardRange } from '../../db/deliveries/lines.ts'
import { createPulse } from '../../runtime/pulse.ts'
import { createDelivery } from '../attempt.ts'
import type { DeliveryDeps } from '../deps.ts'
import { passPoint } from '../points.ts'
import { createAdmission, type LanesShare } from './admission.ts'
import { createAttempts } from './attempts.ts'
import { CLAIM_MAX, claimUntil } from './claiming.ts'
import { createClaims } from './claims.ts'
import { createRecovery, settleMarked } from './expiredLeases.ts'
import { createInFlight, SENT_MAX } from './inFlight.ts'
import { createLeases } from './leases.ts'
import { createOutcomes } from './outcomes.ts'
import { type Lane, type Ownership, own } from './ownership.ts'
import { createReady, READY_MS } from './ready.ts'
import { createRooms } from './rooms.ts'
import { laneShards } from './shards.ts'

/** Deliveries for each connection that take a place: while one is sent, the next ones are composed. */
const CLAIMS_PER_CONNECTION = 10
/** Slow direct deliveries that do not count towards the capacity; with a relay all deliveries count. */
const SLOW_MAX = 1_000
/** How long the last try to write known outcomes may take, once the time of a stop is over. */
const LAST_WRITE_MS = 5_000

export interface LaneRun {
  /** Resolves when it claims no more, with the reason. */
  ended: Promise<'stopped' | 'taken'>
  /** Resolves when the last of its deliveries is settled or given back, after `ended`. */
  settled: Promise<void>
  /** Says that the next owner may take the lane without cutting off what is under way here. */
  offer: () => Promise<void>
}

/**
 * Takes a lane and runs it. Aborting `stop`, or `deps.stopping`, ends its claims and offers the lane; what is under way
 * is finished under leases that are extended until the last has settled. Once the process stops, that takes
 * `config.drainMs` at most: then what is not marked goes back to the queue, and what is marked becomes unknown.
 * It keeps running while the database is away.
 * @throws errors of the database, while the lane is not taken
 */
export async function runLane(
  deps: DeliveryDeps,
  lane: Lane,
  stop: AbortSignal,
  shared: LanesShare,
): Promise<LaneRun> {
  const ownership = await own(deps, lane)
  const shards = laneShards(lane.lane, lane.lanes)
  const over = AbortSignal.any([stop, deps.stopping, ownership.lost])
  const running = createRunning(deps, shards, ownership, { ...shared, over })
  const upkeep = setInterval(
    () => void running.quietly('upkeep', () => running.keepUp(!over.aborted)),
    Math.max(200, deps.config.leaseMs / 4),
  )
  const readying = setInterval(() => {
    if (!over.aborted) void running.quietly('making mail ready', running.makeReady)
  }, READY_MS)
  const ended = claimUntil(over, deps, running).then(async () => {
    clearInterval(readying)
    if (!ownership.lost.aborted) await ownership.offer()
    ownership.end()
    return ownership.lost.aborted ? 'taken' : 'stopped'
  })
  const settled = ended.then(async () => {
    await running.drain()
    clearInterval(upkeep)
  })
  return { ended, settled, offer: ownership.offer }
}

/** Makes the state of a running lane, and its functions that read and write deliveries. */
function createRunning(
  deps: DeliveryDeps,
  shards: ShardRange,
  { epoch, look }: Ownership,
  shared: LanesShare & { over: AbortSignal },
) {
  const { log, now, config, metrics } = deps
  const leases = createLeases({ owner: epoch, shards }, config.leaseMs, now)
  const leaseToken = leases.token
  const capacity = config.smtpConnections * CLAIMS_PER_CONNECTION
  const slowMax = config.deliveryMode === 'mx' ? SLOW_MAX : 0
  const inFlight = createInFlight<ClaimedDelivery>({ capacity, slowMax, sentMax: SENT_MAX })
  const rooms = createRooms(deps.transport, { ...deps, unbounded: config.simulatorDomain })
  const admit = createAdmission(deps, shared, leaseToken)
  const pulse = createPulse()
  const late = timeAfter(deps.stopping, config.drainMs)
  const outcomes = createOutcomes(late.signal)
  /** Whether the lane waits for deliveries to end. Otherwise a claim after each of them would find nothing. */
  let isFull = false
  const onEnded = (hasRoom: boolean) => {
    if (isFull || hasRoom) pulse.beat()
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

  const release = (deliveries: readonly ClaimedDelivery[], whenHeld?: 'passOver') =>
    transact.one(deps, ({ db }) => releaseDeliveries(db, deliveries, leaseToken, whenHeld))

  /** A mark was refused: the lane may have a newer owner, to whom the delivery goes back at once. */
  const onLost = async (delivery: ClaimedDelivery) => {
    await Promise.all([look(), quietly('giving a lease back', () => release([delivery]))])
  }
  const attempts = createAttempts({
    inFlight,
    rooms,
    deliver: createDelivery(deps, { leases, outcomes, useEmail: shared.useEmail, onLost }),
    release,
    onEnded,
    quietly,
  })

  const claiming = { ...deps, db: deps.claiming }
  const claims = createClaims({
    run: (work) => transact.one(claiming, ({ db }) => work(db)),
    shards,
    quietly,
    onFound: pulse.beat,
    over: shared.over,
  })
  const onReady = (rows: readonly InLine[]) => {
    claims.add(rows)
    pulse.beat()
  }
  const makeReady = createReady(deps, { shards, owner: epoch }, onReady, claims.searchSoon)
  const recover = createRecovery(deps, shards)

  /** Claims up to `limit` deliveries and starts those that may be sent now. @returns whether more are due */
  const claim = async (limit: number): Promise<boolean> => {
    // What is sent while no outcome can be written would wait as those that are there do.
    if (outcomes.areStuck() || !rooms.mayClaim()) return false
    const began = performance.now()
    const until = leases.next()
    passPoint('claim', null)
    const asked = { leaseToken, leaseMs: config.leaseMs, now: now(), owner: epoch }
    const { deliveries, full, more } = await claims.claim({
      ...asked,
      limit,
      rooms: rooms.left(),
    })
    metrics?.claimed(deliveries.length, performance.now() - began)
    for (const { id } of deliveries) passPoint('claimed', id)
    try {
      const admitted = await admit(deliveries)
      leases.note(admitted, until)
      attempts.begin(admitted)
    } catch (err) {
      await release(deliveries)
      throw err
    }
    rooms.wanted(full)
    return more
  }

  /** Extends the leases of deliveries under way. An owner also takes over those whose lease has expired. */
  const keepUp = async (isOwner: boolean) => {
    attempts.giveBackAgain()
    const held = inFlight.items()
    if (held.length > 0) {
      const until = leases.next()
      const ids = held.map(({ id }) => id)
      const extended = await transact.one(deps, ({ db }) =>
        extendLeases(db, ids, leaseToken, config.leaseMs),
      )
      leases.note(
        held.filter(({ id }) => extended.has(id)),
        until,
      )
    }
    if (isOwner && (await recover())) pulse.beat()
  }

  /**
   * Waits for deliveries under way, and no longer than `drainMs` once the process stops. A message that is still being
   * written then gets no final dot, so it is not delivered. What has an outcome is written before the rest is said to have none.
   */
  const drain = async () => {
    await Promise.race([inFlight.settled(), late.passed])
    late.cancel()
    const left = attempts.left()
    if (left.length === 0) return
    // One that somebody holds must keep no other waiting: there is little time.
    const giveBack = () => quietly('giving leases back', () => release(left, 'passOver'))
    await giveBack()
    await outcomes.ended(LAST_WRITE_MS)
    await giveBack()
    await quietly('settling what is marked', () => settleMarked(deps, left, leaseToken))
  }

  // A small claim costs as much as a large one, so a lane waits until half of its room is free.
  const claimMin = Math.ceil(Math.min(capacity, CLAIM_MAX) / 2)
  return {
    inFlight,
    pulse,
    claimMin,
    quietly,
    waitForRoom,
    claim,
    makeReady,
    keepUp,
    drain,
  }
}

/** A signal that is aborted so long after another one, and a promise that resolves then. */
function timeAfter(signal: AbortSignal, wait_ms: number) {
  let timer: NodeJS.Timeout | undefined
  const late = new AbortController()
  const passed = new Promise<void>((resolve) => {
    late.signal.addEventListener('abort', () => resolve())
  })
  const begin = () => {
    timer = setTimeout(() => late.abort(), wait_ms)
  }
  if (signal.aborted) begin()
  else signal.addEventListener('abort', begin)
  return {
    signal: late.signal,
    passed,
    cancel() {
      clearTimeout(timer)
      signal.removeEventListener('abort', begin)
    },
  }
}
