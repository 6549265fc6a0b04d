// Claims batches of outbox rows, hands them to Temporal and settles them. A row that is not answered soon is settled later,
// beside the next batches.
import type { Client } from '@temporalio/client'
import { transact } from '../commands/transact.ts'
import type { Db } from '../db/connect.ts'
import type { OutboxLine, TemporalRow } from '../db/outbox.ts'
import { claimOutbox, type OutboxClaim, settleOutbox } from '../db/outboxClaims.ts'
import type { Log } from '../runtime/log.ts'
import { type Handed, handOver } from './handOver.ts'
import type { createOutage } from './outage.ts'
import type { StartWindow } from './startWindow.ts'

/** How long Temporal may take for a row. */
const CALL_MS = 10_000
/** How long a batch belongs to this worker: longer than its calls and its settlement take. */
const LEASE_MS = 15_000
/** How long the answers of a batch are waited for before those that came are settled, and the next batch is claimed. */
const SETTLE_MS = 1_000
/** Rows that may be without an answer before no further batch is claimed. */
const OPEN_MAX = 256
/** When rows are tried again about which Temporal could not be asked. */
const AWAY_MS = 2_000

export interface BatchesDeps {
  db: Db
  client: Client
  namespace: string
  log: Log
  now: () => Date
  window: StartWindow
  outage: ReturnType<typeof createOutage>
}

type Answered = Handed & { row: TemporalRow }

interface Batch {
  claim: OutboxClaim
  /** When Temporal was asked, by the clock of `performance`. */
  asked_at: number
  size: number
  open: Set<Promise<void>>
  /** What is not settled yet. */
  answered: Answered[]
}

/** Makes the batches of one loop. @param refused whether of rows that Temporal has refused */
export function createBatches(deps: BatchesDeps, refused: boolean) {
  const open = new Set<Promise<void>>()
  const later = new Set<Promise<void>>()

  const settleLater = async (batch: Batch): Promise<void> => {
    try {
      while (batch.open.size > 0) {
        await within(Promise.all(batch.open), SETTLE_MS)
        await settle(deps, batch)
      }
    } catch (err) {
      deps.log.warn({ err }, 'answers of Temporal could not be settled; trying again')
    }
  }
  return {
    /**
     * Claims a batch, hands it over and settles what is answered soon.
     * @returns how many rows are done by then, null when there was nothing to claim; and whether more may be due, since some
     *   were put off that stand behind others
     */
    async carry(
      lines: readonly (OutboxLine & { most: number })[],
    ): Promise<{ done: number | null; hasMore: boolean }> {
      while (open.size >= OPEN_MAX) await Promise.race(open)
      const at = deps.now()
      const claim = { now: at, until: new Date(at.getTime() + LEASE_MS), refused }
      const opening = { db: deps.db, wake: () => undefined }
      const { rows, putOff } = await transact.one(opening, ({ db }) =>
        claimOutbox(db, lines, claim),
      )
      const hasMore = putOff > 0
      if (rows.length === 0) return { done: null, hasMore }
      const batch = ask(deps, rows, claim, open)
      await within(Promise.all(batch.open), SETTLE_MS)
      const done = await settle(deps, batch)
      if (batch.open.size > 0) {
        const rest = settleLater(batch).finally(() => later.delete(rest))
        later.add(rest)
      }
      return { done, hasMore }
    },
    /** Waits until all that was claimed is settled. */
    settled: async (): Promise<void> => void (await Promise.all(later)),
  }
}

function ask(
  deps: BatchesDeps,
  rows: readonly TemporalRow[],
  claim: OutboxClaim,
  open: Set<Promise<void>>,
): Batch {
  const asked_at = performance.now()
  const batch: Batch = { claim, asked_at, size: rows.length, open: new Set(), answered: [] }
  for (const row of rows) {
    const call = handOver(deps, row, CALL_MS).then((handed) => {
      batch.answered.push({ row, ...handed })
      batch.open.delete(call)
      open.delete(call)
    })
    batch.open.add(call)
    open.add(call)
  }
  return batch
}

/** Settles what of a batch is answered by now. @returns how many rows are done */
async function settle(deps: BatchesDeps, batch: Batch): Promise<number> {
  const answered = batch.answered.splice(0)
  if (answered.length === 0) return 0
  const { now, window, outage } = deps
  const done = answered.filter(({ kind }) => kind === 'done').map(({ row }) => row)
  for (const row of done) {
    if (row.kind === 'start') window.add(row.workspace_id, row.workflow_id, row.execution_id)
  }
  if (answered.some(({ kind }) => kind !== 'away')) outage.answered()
  const refused: { row: TemporalRow; refusal: string; err: unknown }[] = []
  const away: (Answered & { kind: 'away' })[] = []
  const isAnswering = outage.hasAnsweredSince(batch.asked_at)
  for (const one of answered) {
    if (one.kind === 'refused') refused.push(one)
    if (one.kind !== 'away') continue
    // Temporal answers others meanwhile: this one stands in their way, as a row does that is refused.
    if (one.ofRow !== null && isAnswering) refused.push({ ...one, refusal: one.ofRow })
    else away.push(one)
  }
  tellRefusals(deps.log, refused)
  if (away[0]) {
    const wholly = !isAnswering && batch.size > 1 && away.every(({ ofRow }) => ofRow === null)
    outage.away(away[0].err, away.length, wholly)
  }
  const settledAt = now()
  const held = { now: settledAt, until: batch.claim.until }
  const settlement = {
    done: done.map((row) => row.id),
    putOff: {
      ids: away.map(({ row }) => row.id),
      until: new Date(settledAt.getTime() + AWAY_MS),
    },
    refused: refused.map(({ row, refusal }) => ({ id: row.id, refusal })),
  }
  const opening = { db: deps.db, wake: () => undefined }
  await transact.one(opening, ({ db }) => settleOutbox(db, held, settlement))
  return done.length
}

/** Logs each kind of refusal once, with the first row that met it. */
function tellRefusals(
  log: Log,
  refused: readonly { row: TemporalRow; refusal: string; err: unknown }[],
): void {
  const counts = new Map<string, number>()
  for (const { refusal } of refused) counts.set(refusal, (counts.get(refusal) ?? 0) + 1)
  for (const [refusal, count] of counts) {
    const first = refused.find((one) => one.refusal === refusal)
    if (!first) continue
    const { execution_id, kind, attempts } = first.row
    log.error(
      { err: first.err, execution_id, kind, attempts, refusal, count },
      'Temporal refused an outbox row; trying again later, less and less often',
    )
  }
}

/** Waits for work, but not longer. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, over])
  clearTimeout(timer)
}
