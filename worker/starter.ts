// The starter: takes rows of the outbox by a lease, hands them to Temporal and settles them. It holds no lock and no
// connection while Temporal is asked.
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import type { Db } from '../db/connect.ts'
import { listWithoutSegment } from '../db/executions/reads.ts'
import { listOutboxLines, type OutboxLine } from '../db/outbox.ts'
import type { Log } from '../runtime/log.ts'
import { createPulse } from '../runtime/pulse.ts'
import { createBatches } from './batches.ts'
import { createOutage } from './outage.ts'
import { createStartWindow, type StartBound, type StartWindow } from './startWindow.ts'

const BATCH_MAX = 64
const POLL_MS = 1_000
/** How often rows are looked for that Temporal has refused before. */
const REFUSED_POLL_MS = 2_000
/** The first wait for executions to begin, before more of their workspace are started; each further one is twice as long. */
const SOON_MS = 25
/** The longest of them at first: where few are started at once, a longer one would leave the workers idle. */
const SOON_MS_MAX = 100
/** How long that is the longest, while none begins. */
const SOON_FOR_MS = 2_000

export interface StarterDeps {
  db: Db
  client: Client
  namespace: string
  log: Log
  now: () => Date
  /** How many executions of a workspace may be started that have not begun; the usual bounds when absent. */
  startsAhead?: readonly StartBound[]
  /** Listens for committed outbox rows. Returns a function that stops listening. */
  onOutbox: (wake: () => void) => () => Promise<void>
}

/** What the rounds of a starter share. */
interface Starter extends StarterDeps {
  window: StartWindow
  outage: ReturnType<typeof createOutage>
  stop: AbortSignal
}

interface Round {
  /** How many rows are done. */
  carried: number
  /** Whether more may be due behind rows that were put off. */
  hasMore: boolean
  /** Whether starts wait because those before them have not begun. */
  isHeldBack: boolean
}

type Batches = ReturnType<typeof createBatches>

/**
 * Starts two loops: one for new rows, and one for those that Temporal has refused, which delay nobody else. `stop` ends
 * them after their running batches.
 */
export function startStarter(deps: StarterDeps): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const pulse = createPulse()
  const stopListening = deps.onOutbox(pulse.beat)
  const window = createStartWindow(
    (workspaceId, ids) => listWithoutSegment(deps.db, workspaceId, ids),
    deps.startsAhead,
  )
  const starter = { ...deps, window, outage: createOutage(deps), stop: stopping.signal }
  const running = Promise.all([carryNew(starter, pulse), carryRefused(starter)])

  return {
    async stop() {
      stopping.abort()
      pulse.beat()
      await stopListening()
      await running
    },
  }
}

async function carryNew(starter: Starter, pulse: ReturnType<typeof createPulse>): Promise<void> {
  const { outage, stop } = starter
  const batches = createBatches(starter, false)
  let soon_ms = SOON_MS
  let heldFor_ms = 0
  while (!stop.aborted) {
    const round = await carryRound(starter, batches, false)
    if (!round) continue
    if (outage.pause_ms() > 0) {
      await pause(outage.pause_ms(), stop)
      continue
    }
    // More rows may be due, or may become due now that the rows before them are done: look again at once.
    if (round.carried > 0 || round.hasMore) {
      soon_ms = SOON_MS
      heldFor_ms = 0
      continue
    }
    await pulse.next(round.isHeldBack ? soon_ms : POLL_MS)
    heldFor_ms += soon_ms
    soon_ms = Math.min(soon_ms * 2, heldFor_ms < SOON_FOR_MS ? SOON_MS_MAX : POLL_MS)
  }
  await batches.settled()
}

async function carryRefused(starter: Starter): Promise<void> {
  const { outage, stop } = starter
  const batches = createBatches(starter, true)
  while (!stop.aborted) {
    const round = await carryRound(starter, batches, true)
    // What Temporal takes at last is not made to wait for the next look.
    if (round && (round.carried > 0 || round.hasMore)) continue
    await pause(Math.max(REFUSED_POLL_MS, outage.pause_ms()), stop)
  }
  await batches.settled()
}

const pause = (ms: number, signal: AbortSignal) =>
  delay(ms, null, { signal }).catch(() => undefined)

/**
 * Hands over some rows of every line that has due ones.
 * @returns what the round has done; null after a failure and a pause
 */
async function carryRound(
  starter: Starter,
  batches: Batches,
  refused: boolean,
): Promise<Round | null> {
  try {
    return await carryLines(starter, batches, refused)
  } catch (err) {
    starter.log.warn({ err }, 'outbox rows could not be handed to Temporal; trying again')
    await pause(POLL_MS, starter.stop)
    return null
  }
}

async function carryLines(starter: Starter, batches: Batches, refused: boolean): Promise<Round> {
  const { db, now, window, outage, stop } = starter
  const round: Round = { carried: 0, hasMore: false, isHeldBack: false }
  let after: OutboxLine | null = null
  const freeFor = window.round()
  do {
    const at = { now: now(), refused }
    const page: Awaited<ReturnType<typeof listOutboxLines>> = await listOutboxLines(db, after, at)
    for (let first = 0; first < page.due.length && !stop.aborted; first += BATCH_MAX) {
      const lines = page.due.slice(first, first + BATCH_MAX)
      const each = Math.floor(BATCH_MAX / lines.length)
      const taken: (OutboxLine & { most: number })[] = []
      for (const line of lines) {
        const isStart = line.starts_of !== ''
        const free = isStart ? await freeFor(line.workspace_id, line.starts_of) : each
        if (free > 0) taken.push({ ...line, most: Math.min(each, free) })
        else round.isHeldBack = true
      }
      if (taken.length === 0) continue
      const { done, hasMore } = await batches.carry(taken)
      round.carried += done ?? 0
      round.hasMore ||= hasMore
      // One batch has shown it: the others would hear the same.
      if (done !== null && outage.pause_ms() > 0) return round
    }
    after = page.next
  } while (after !== null && !stop.aborted)
  return round
}
