// The starter: takes rows of the outbox by a lease, hands them to Temporal and settles them. It holds no lock and no
// connection while Temporal is asked.
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import { transact } from '../commands/transact.ts'
import type { Db } from '../db/connect.ts'
import { listWithoutSegment } from '../db/executions/reads.ts'
import {
  claimOutbox,
  listOutboxLines,
  type OutboxClaim,
  type OutboxLine,
  settleOutbox,
  type TemporalRow,
} from '../db/outbox.ts'
import type { Log } from '../runtime/log.ts'
import { createPulse } from '../runtime/pulse.ts'
import { type Handed, handOver } from './handOver.ts'
import { createStartWindow, type StartWindow } from './startWindow.ts'

const BATCH_MAX = 64
const POLL_MS = 1_000
/** How often rows are looked for that Temporal has refused before. */
const REFUSED_POLL_MS = 2_000
/** The first wait for executions to begin, before more of their workspace are started; each further one is longer. */
const SOON_MS = 25
/** How long Temporal may take for a row. */
const CALL_MS = 10_000
/** How long a batch belongs to this worker: longer than its calls and its settlement take. */
const LEASE_MS = 15_000
/** When rows are tried again about which Temporal could not be asked. */
const AWAY_MS = 2_000

export interface StarterDeps {
  db: Db
  client: Client
  namespace: string
  log: Log
  now: () => Date
  /** Executions of a workspace that are started and have not begun; the usual number when absent. */
  startsAheadMax?: number
  /** Listens for committed outbox rows. Returns a function that stops listening. */
  onOutbox: (wake: () => void) => () => Promise<void>
}

/** What the rounds of a starter share. */
interface Starter extends StarterDeps {
  window: StartWindow
  stop: AbortSignal
}

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
    deps.startsAheadMax === undefined ? {} : { size: deps.startsAheadMax },
  )
  const starter = { ...deps, window, stop: stopping.signal }
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
  let soon_ms = SOON_MS
  while (!starter.stop.aborted) {
    const round = await carryRound(starter, false)
    if (!round) continue
    // More rows may be due, or may become due now that the rows before them are done: look again at once.
    if (round.carried > 0) {
      soon_ms = SOON_MS
      continue
    }
    await pulse.next(round.isHeldBack ? soon_ms : POLL_MS)
    soon_ms = Math.min(soon_ms * 2, POLL_MS)
  }
}

async function carryRefused(starter: Starter): Promise<void> {
  while (!starter.stop.aborted) {
    await carryRound(starter, true)
    await pause(REFUSED_POLL_MS, starter.stop)
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  delay(ms, null, { signal }).catch(() => undefined)

/**
 * Hands over some rows of every line that has due ones.
 * @returns how many rows are done; `isHeldBack` when starts wait because those before them have not begun; null after a
 * failure and a pause
 */
async function carryRound(
  starter: Starter,
  refused: boolean,
): Promise<{ carried: number; isHeldBack: boolean } | null> {
  try {
    return await carryLines(starter, refused)
  } catch (err) {
    starter.log.warn({ err }, 'outbox rows could not be handed to Temporal; trying again')
    await pause(POLL_MS, starter.stop)
    return null
  }
}

async function carryLines(
  starter: Starter,
  refused: boolean,
): Promise<{ carried: number; isHeldBack: boolean }> {
  const { db, now, window, stop } = starter
  let carried = 0
  let isHeldBack = false
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
        else isHeldBack = true
      }
      if (taken.length > 0) carried += await carryBatch(starter, taken, refused)
    }
    after = page.next
  } while (after !== null && !stop.aborted)
  return { carried, isHeldBack }
}

/** Claims, hands over and settles one batch. @returns how many rows are done */
async function carryBatch(
  starter: Starter,
  lines: readonly (OutboxLine & { most: number })[],
  refused: boolean,
): Promise<number> {
  const { now, window } = starter
  const deps = { db: starter.db, wake: () => undefined }
  const at = now()
  const claim: OutboxClaim = { now: at, until: new Date(at.getTime() + LEASE_MS), refused }
  const rows = await transact.one(deps, ({ db }) => claimOutbox(db, lines, claim))
  if (rows.length === 0) return 0
  const handed = await Promise.all(
    rows.map(async (row) => ({ row, ...(await handOver(starter, row, CALL_MS)) })),
  )
  const done = handed.filter(({ kind }) => kind === 'done').map(({ row }) => row)
  for (const row of done) {
    if (row.kind === 'start') window.add(row.workspace_id, row.workflow_id, row.execution_id)
  }
  tellFailures(starter.log, handed)
  const away = handed.filter(({ kind }) => kind === 'away')
  const settledAt = now()
  const settlement = {
    done: done.map((row) => row.id),
    putOff: {
      ids: away.map(({ row }) => row.id),
      until: new Date(settledAt.getTime() + AWAY_MS),
    },
    refused: handed.flatMap((one) =>
      one.kind === 'refused' ? [{ id: one.row.id, refusal: one.refusal }] : [],
    ),
  }
  const held = { now: settledAt, until: claim.until }
  await transact.one(deps, ({ db }) => settleOutbox(db, held, settlement))
  return done.length
}

/** Logs each refusal, and once for a batch that Temporal was away. */
function tellFailures(log: Log, handed: (Handed & { row: TemporalRow })[]): void {
  const away = handed.filter((one) => one.kind === 'away')
  if (away[0]) {
    const { err } = away[0]
    log.warn({ err, count: away.length }, 'Temporal could not be asked; trying again')
  }
  for (const one of handed) {
    if (one.kind !== 'refused') continue
    const { execution_id, kind, attempts } = one.row
    log.error(
      { err: one.err, execution_id, kind, attempts, refusal: one.refusal },
      'Temporal refused an outbox row; trying again later, less and less often',
    )
  }
}
