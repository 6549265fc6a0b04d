// Keeps Postgres and Temporal in agreement, in rounds that one worker at a time does: closes rows of executions that ended in
// Temporal alone, and starts again what Temporal has lost.
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '@temporalio/client'
import { transact } from '../commands/transact.ts'
import { isStartLeft } from '../db/executions/lost.ts'
import type { NamespaceRow } from '../db/namespaces/reads.ts'
import { claimRound, type NamespaceChange, updateRound } from '../db/namespaces/writes.ts'
import { registerSearchAttributes } from '../runtime/temporal.ts'
import { type LookDeps, lookAt, type WalkPosition, walkBegin } from './lost.ts'
import { describeNamespace, type Namespace } from './namespace.ts'
import { tellOverdue } from './overdue.ts'
import { restore } from './restore.ts'
import { type SweeperDeps, sweep } from './sweeper.ts'

/** From the begin of a round to that of the next. */
const EVERY_MS = 30_000
/** How often a worker asks whether a round is due. */
const TICK_MS = 5_000
/** A worker that dies in a round keeps it for so long. */
const ROUND_MS_MAX = 120_000
/** A round that finds much begins no further page after this time. */
const BUSY_MS_MAX = 60_000
/** How far back the very first sweep looks. The walk finds what ended before. */
const FIRST_LOOK_BACK_MS = 24 * 60 * 60 * 1000
/** Visibility trails, so each sweep looks at some of what the one before has seen. */
const OVERLAP_MS = 5 * 60 * 1000
const LOOK_MS = 200

export interface RoundDeps extends SweeperDeps, LookDeps {
  connection: Pick<Connection, 'operatorService'>
  /** For tests: instead of `BUSY_MS_MAX`. */
  busy_ms?: number
}

interface Known {
  walk: WalkPosition
  lapLost: number
  unseenUntil: Date | null
}

/**
 * What holds at the begin of a round. After an absence that was longer than Temporal keeps runs, some may have ended from
 * outside and been dropped unseen. A namespace that is another one than before has lost all, and dropped nothing.
 */
export function knownOf(
  row: Pick<NamespaceRow, 'id' | 'swept_until' | 'unseen_until' | 'walk' | 'lap_lost'>,
  { id, retention_ms }: Namespace,
  at: Date,
): Known & { isOther: boolean } {
  const isOther = row.id !== null && row.id !== id
  const anew = { walk: walkBegin, lapLost: 0 }
  if (isOther) return { ...anew, unseenUntil: null, isOther }
  const droppedUntil = retention_ms === null ? null : new Date(at.getTime() - retention_ms)
  const { swept_until } = row
  if (droppedUntil !== null && swept_until !== null && swept_until < droppedUntil) {
    return { ...anew, unseenUntil: droppedUntil, isOther }
  }
  const walk = (row.walk as WalkPosition | null) ?? walkBegin
  return { walk, lapLost: row.lap_lost, unseenUntil: row.unseen_until, isOther }
}

/** Does a round if one is due. @returns whether it was */
export async function runRound(deps: RoundDeps): Promise<boolean> {
  const { db, now, namespace, log } = deps
  const at = now()
  const round = { name: namespace, until: new Date(at.getTime() + ROUND_MS_MAX) }
  const opening = { db, wake: () => undefined }
  const row = await transact.one(opening, ({ db: trx }) => claimRound(trx, round, at))
  if (!row) return false
  const keep = (change: NamespaceChange) =>
    transact.one(opening, ({ db: trx }) => updateRound(trx, round, change))
  let next_at = new Date(at.getTime() + EVERY_MS)
  try {
    const space = await describeNamespace(deps.client, namespace)
    // One that is new knows none, and would refuse every start.
    await registerSearchAttributes(deps.connection, namespace)
    const { isOther, ...known } = knownOf(row, space, at)
    if (isOther) {
      log.error(
        { namespace },
        'Temporal has another namespace of this name: all of its runs are lost',
      )
    }
    const { walk, lapLost, unseenUntil } = known
    await keep({ id: space.id, walk, lap_lost: lapLost, unseen_until: unseenUntil })
    await sweepSince(deps, row.swept_until, at, keep)
    await tellOverdue(deps)
    if (await walkOn(deps, { ...known, space, at, keep })) next_at = now()
  } finally {
    await keep({ next_at })
  }
  return true
}

type Keep = (change: NamespaceChange) => Promise<boolean>

async function sweepSince(
  deps: RoundDeps,
  sweptUntil: Date | null,
  at: Date,
  keep: Keep,
): Promise<void> {
  const from = sweptUntil?.getTime() ?? at.getTime() - FIRST_LOOK_BACK_MS
  try {
    await sweep(deps, new Date(from - OVERLAP_MS))
    await keep({ swept_until: at })
  } catch (err) {
    deps.log.warn({ err }, 'a sweep of ended executions failed; the next one covers it')
  }
}

/**
 * Looks at the next page of the walk. Where it finds something lost, the others follow, each when the starts of the one before
 * have left the outbox, so that fresh events come first.
 * @returns whether much is left to do
 */
async function walkOn(
  deps: RoundDeps,
  from: Known & { space: Namespace; at: Date; keep: Keep },
): Promise<boolean> {
  const { space, at, keep, unseenUntil } = from
  const end = at.getTime() + (deps.busy_ms ?? BUSY_MS_MAX)
  let lost = from.lapLost
  let position = from.walk
  while (!deps.stop.aborted) {
    const look = await lookAt(deps, position, space)
    const { started, closed } = await restore(deps, look, unseenUntil)
    lost += started.length
    if (started.length + closed > 0) {
      const counts = { started: started.length, closed, namespace: deps.namespace }
      deps.log.warn(counts, 'what Temporal has lost is started again, and ended rows are closed')
    }
    const { next } = look
    const change = next
      ? { walk: next, lap_lost: lost }
      : // All that is live was in Temporal in this lap, or is started again.
        { walk: null, lap_lost: 0, unseen_until: null }
    if (!(await keep(change)) || next === null) return false
    const isNextKind = next.in !== position.in
    position = next
    if (lost === 0 && !isNextKind) return false
    while (
      started.length > 0 &&
      deps.now().getTime() < end &&
      (await isStartLeft(deps.db, started))
    )
      await delay(LOOK_MS, null, { signal: deps.stop })
    if (deps.now().getTime() >= end) return lost > 0
  }
  return false
}

/** Does rounds as they become due, until `stop`. */
export function startRounds(deps: Omit<RoundDeps, 'stop'>): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    while (!signal.aborted) {
      try {
        await runRound({ ...deps, stop: signal })
      } catch (err) {
        if (signal.aborted) return
        deps.log.warn({ err }, 'what Temporal should run could not be looked at; tried again')
      }
      await delay(TICK_MS, null, { signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}
