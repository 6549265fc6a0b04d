// Does the work of several clients of a workspace together, for those of them that stay.

import { isUnavailable } from '../db/failures.ts'
import { currentScope, inScope, whenAllAbort } from '../db/scope.ts'
import { ClientGone, NoPlace } from '../db/shares.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import { limits } from '../rules/limits.ts'
import { createBatchers } from '../runtime/batcher.ts'

/**
 * Groups of a workspace that may be under way together. Where a busy machine makes each commit slow, one after the other would be too few
 * for what comes; each takes a connection of the workspace's share.
 */
const AT_ONCE = 3

/** A commit takes a few milliseconds. One that takes longer, on a busy machine or beside large writes, is not waited for. */
const SLOW_MS = 20

/** In place of a result, for a client that went away before its group began. */
const LEFT_OUT = Symbol('left out')

interface Asked<T> {
  item: T
  /** Aborted when its client has gone. */
  signal: AbortSignal | null
}

/**
 * Makes a function that does the work of several clients of a workspace together. The first item goes at once; those that
 * come while its group is under way share the next one. Up to three are under way where more wait than one group may have, or where a group is slow. A group is given up when all of its clients have gone; one who
 * goes while the group waits is left out of it, and gets a `ClientGone`.
 * @param work gives one result for each item, in order; if it throws, every item of the group fails
 * @param keysOf items of one group have no key in common; those that have come in different groups, in their order
 */
export function grouped<T, R>(
  work: (workspaceId: WorkspaceId, items: T[]) => Promise<R[]>,
  maxItems: number,
  keysOf?: (item: T) => readonly string[],
): (workspaceId: WorkspaceId, item: T) => Promise<R> {
  const run = async (
    workspaceId: WorkspaceId,
    asked: Asked<T>[],
  ): Promise<(R | typeof LEFT_OUT)[]> => {
    const staying = asked.filter(({ signal }) => !signal?.aborted)
    if (staying.length === 0) return asked.map(() => LEFT_OUT)
    const signal = whenAllAbort(staying.map((one) => one.signal))
    const scope = { owner: { kind: 'workspace', workspaceId }, signal } as const
    const results = await inScope(scope, () =>
      work(
        workspaceId,
        staying.map(({ item }) => item),
      ),
    )
    const found = new Map(staying.map((one, place) => [one, results[place] as R]))
    return asked.map((one) => (found.has(one) ? (found.get(one) as R) : LEFT_OUT))
  }
  const submit = createBatchers(run, maxItems, {
    atOnce: AT_ONCE,
    slow_ms: SLOW_MS,
    // As many as may wait for a connection: who comes later is told at once.
    full: { most: limits.placesWaitedForMax, error: () => new NoPlace('too many wait already') },
    // Those that wait have written nothing, and would wait for as long each.
    failsAll: (err) => isUnavailable(err) || err instanceof NoPlace,
    ...(keysOf ? { keysOf: ({ item }: Asked<T>) => keysOf(item) } : {}),
  })
  return async (workspaceId, item) => {
    const result = await submit(workspaceId, { item, signal: currentScope().signal })
    if (result === LEFT_OUT) throw new ClientGone('the client went away while its group waited')
    return result
  }
}
