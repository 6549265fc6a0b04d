// Decides when a lane claims: as soon as mail is due and there is room for it.
import { setTimeout as pause } from 'node:timers/promises'
import type { createPulse } from '../../runtime/pulse.ts'
import type { DeliveryDeps } from '../deps.ts'

const POLL_MS = 1_000
/** How often a full lane checks whether deliveries under way have become slow and make room. */
const FULL_POLL_MS = 200
/**
 * How many times as long as a claim the lane rests after one that left nothing due: where mail comes one by one, a claim for each would
 * take from a busy machine what sending needs.
 */
const REST_FACTOR = 2
const REST_MS_MAX = 50
/** The largest claim: a larger one keeps Postgres busy, and its rows locked, for longer than others should wait. */
export const CLAIM_MAX = 200

/** What of a lane its claims need. */
interface Claiming {
  inFlight: { free(): number }
  pulse: Pick<ReturnType<typeof createPulse>, 'beat' | 'next'>
  /** A claim for fewer is not worth what it costs. */
  claimMin: number
  quietly: (what: string, work: () => Promise<unknown>) => Promise<void>
  waitForRoom: (full: boolean) => void
  /** Claims up to so many and begins them. @returns whether more are due */
  claim: (limit: number) => Promise<boolean>
}

/**
 * Claims until `over` is aborted: at once when there is a beat, after a rest when a claim left nothing due, and not while there is
 * little room.
 */
export async function claimUntil(
  over: AbortSignal,
  deps: Pick<DeliveryDeps, 'onDeliveries'>,
  running: Claiming,
): Promise<void> {
  const { inFlight, pulse, claimMin, quietly } = running
  const stopListening = deps.onDeliveries(pulse.beat)
  over.addEventListener('abort', pulse.beat)
  while (!over.aborted) {
    const free = Math.min(inFlight.free(), CLAIM_MAX)
    let more = false
    const began = performance.now()
    if (free >= claimMin) {
      await quietly('claim', async () => {
        more = await running.claim(free)
      })
    }
    const took_ms = performance.now() - began
    // If more is due, claim again as soon as there is room.
    const full = inFlight.free() < claimMin
    running.waitForRoom(full)
    if (more && !full) continue
    if (!full) await pause(Math.min(took_ms * REST_FACTOR, REST_MS_MAX))
    await pulse.next(full ? FULL_POLL_MS : POLL_MS)
  }
  over.removeEventListener('abort', pulse.beat)
  await quietly('the end of listening', stopListening)
}
