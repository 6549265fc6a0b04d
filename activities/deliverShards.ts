// The activity of a delivery lane: this process owns the lane while it runs, and sends heartbeats to Temporal. The lane
// itself (delivery/lane/) goes on without Temporal, until somebody else has taken it.
import { ApplicationFailure, Context } from '@temporalio/activity'
import type { OwnedLane } from '../delivery/lane/owners.ts'
import type { BreakerKind } from '../rules/mail/breakers.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'
import type { ActivityDeps } from './deps.ts'

const HEARTBEAT_MS = 2_000

/** What a heartbeat says, for `npm run lanes`: counts, and no names. */
export interface LaneBeat {
  /** How many breakers of this process are open, by kind. */
  breakers: Record<BreakerKind, number>
}

type Reason = 'taken' | 'stopped' | 'turn' | 'cancelled'

/** The activities of `deliveryLane`. They end when `deps.stopping` is aborted. */
export function deliveryActivities(deps: ActivityDeps) {
  return {
    /**
     * Delivers the shards of one lane. It returns after `laneTurnMs`, so that its workflow function can pick up new code
     * and start a new history; the lane goes on here until the next activity has taken it. It throws a retryable failure
     * when this worker stops or the lane was taken, so that a worker starts the lane at once.
     */
    async deliverShards(lane: DeliveryLaneInput): Promise<void> {
      const context = Context.current()
      const beat = () =>
        context.heartbeat({ breakers: deps.breakers.countOpen() } satisfies LaneBeat)
      const beats = setInterval(beat, HEARTBEAT_MS)
      try {
        if (deps.stopping.aborted) throw handedOver('the worker stops')
        const owned = await deps.lanes.own(lane)
        const reason = await firstEnd(owned, context, deps)
        if (reason === 'turn') await owned.offer()
        if (reason === 'cancelled') await leave(owned, context)
        if (reason === 'stopped') throw handedOver('the worker stops')
        if (reason === 'taken') throw handedOver('a newer owner took the lane')
      } finally {
        clearInterval(beats)
      }
    },
  }
}

/** Waits for the first reason to end the activity. */
async function firstEnd(
  owned: OwnedLane,
  { cancellationSignal }: Context,
  { config }: ActivityDeps,
): Promise<Reason> {
  const over = new AbortController()
  const { signal } = over
  const turn = new Promise<Reason>((resolve) => {
    const timer = setTimeout(() => resolve('turn'), config.laneTurnMs)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
  const cancelled = new Promise<Reason>((resolve) => {
    if (cancellationSignal.aborted) resolve('cancelled')
    cancellationSignal.addEventListener('abort', () => resolve('cancelled'), { signal })
  })
  try {
    return await Promise.race([owned.ended, turn, cancelled])
  } finally {
    over.abort()
  }
}

/**
 * Ends the lane when its workflow asks for that. In all other cases Temporal has only lost sight of this activity, and
 * the lane goes on: whoever takes it next does not cut off what is under way.
 */
async function leave(owned: OwnedLane, context: Context): Promise<void> {
  if (context.cancellationDetails?.cancelRequested) await owned.stop()
  else await owned.offer()
  await context.cancelled
}

const handedOver = (why: string) => ApplicationFailure.retryable(why, 'LaneHandedOver')
