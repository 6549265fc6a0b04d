// The memory for bodies: who may have how much at once, and in which order those who wait get it.
import { ClientGone } from '../../../db/shares.ts'
import { serviceUnavailable } from '../unavailable.ts'
import type { BudgetRules } from './rules.ts'

/** Memory that a body may use. */
export interface Grant {
  /** Says that the body has come, and gives back what is over `bytes`. */
  shrink(bytes: number): void
  /** Whether somebody waits who could be admitted if this body ended, and no larger one is still coming. */
  isInTheWay(): boolean
  /** Gives everything back; later calls change nothing. */
  release(): void
}

interface Waiter {
  bytes: number
  admit(): void
}

interface Held {
  workspaceId: string
  bytes: number
}

/**
 * Makes the budget of a process. Whoever fits gets memory at once. Otherwise they wait: in turns by workspace, within
 * one in the order in which they came. Nobody passes the one whose turn it is, so small bodies do not keep a large one
 * waiting for ever; but a workspace that has used up its share keeps no other one waiting, and a part is kept for small
 * bodies, which pass the large ones there.
 */
export function createBodyBudget(rules: BudgetRules) {
  let used = 0
  const usedBy = new Map<string, number>()
  /** Those who wait, by workspace; the first workspace is the next one. */
  const waiting = new Map<string, Waiter[]>()
  /** Bodies that hold memory and have not come whole. */
  const coming = new Set<Held>()

  const add = (workspaceId: string, bytes: number) => {
    used += bytes
    const share = (usedBy.get(workspaceId) ?? 0) + bytes
    if (share > 0) usedBy.set(workspaceId, share)
    else usedBy.delete(workspaceId)
  }
  const fitsShare = (workspaceId: string, bytes: number) =>
    (usedBy.get(workspaceId) ?? 0) + bytes <= rules.workspaceBytesMax
  const fitsProcess = (bytes: number) => {
    const kept = bytes <= rules.smallBytesMax ? 0 : rules.reserveBytes
    return used + bytes <= rules.processBytesMax - kept
  }

  /** Takes one out of the queue of its workspace. */
  const leave = (workspaceId: string, waiter: Waiter) => {
    const queue = (waiting.get(workspaceId) ?? []).filter((other) => other !== waiter)
    if (queue.length > 0) waiting.set(workspaceId, queue)
    else waiting.delete(workspaceId)
  }

  /** Admits the next one that fits. @returns false if there is none */
  const admitNext = (): boolean => {
    let isLargeNext = false
    for (const [workspaceId, queue] of waiting) {
      const [first] = queue
      if (!first || !fitsShare(workspaceId, first.bytes)) continue
      if (isLargeNext && (first.bytes > rules.smallBytesMax || rules.reserveBytes === 0)) continue
      if (!fitsProcess(first.bytes)) {
        isLargeNext = true
        continue
      }
      // The workspace goes to the end of the line.
      waiting.delete(workspaceId)
      if (queue.length > 1) waiting.set(workspaceId, queue.slice(1))
      first.admit()
      return true
    }
    return false
  }
  const admitAll = () => {
    while (admitNext());
  }

  /** The largest body that is still coming, of one workspace or of all. */
  const largest = (workspaceId?: string): Held | undefined => {
    let most: Held | undefined
    for (const held of coming) {
      if (workspaceId !== undefined && held.workspaceId !== workspaceId) continue
      if (!most || held.bytes > most.bytes) most = held
    }
    return most
  }
  const isInTheWay = (held: Held): boolean => {
    for (const [workspaceId, [first]] of waiting) {
      if (!first) continue
      if (!fitsShare(workspaceId, first.bytes)) {
        if (largest(workspaceId) === held) return true
      } else if (!fitsProcess(first.bytes) && largest() === held) return true
    }
    return false
  }

  const grant = (workspaceId: string, bytes: number): Grant => {
    const held: Held = { workspaceId, bytes }
    add(workspaceId, bytes)
    coming.add(held)
    const shrink = (wanted: number) => {
      coming.delete(held)
      const over = held.bytes - Math.min(held.bytes, wanted)
      if (over === 0) return
      held.bytes -= over
      add(workspaceId, -over)
      admitAll()
    }
    return { shrink, release: () => shrink(0), isInTheWay: () => isInTheWay(held) }
  }

  return {
    /** Bytes in use, and how many wait: for tests and metrics. */
    state: () => ({ used, waiting: [...waiting.values()].flat().length }),
    /**
     * Waits for memory.
     * @param signal when the client has gone
     * @throws ApiError 503 `service_unavailable` after `wait_ms`; ClientGone
     */
    ask(workspaceId: string, wanted: number, signal?: AbortSignal): Promise<Grant> {
      const bytes = Math.min(wanted, rules.workspaceBytesMax)
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          bytes,
          admit() {
            stop()
            resolve(grant(workspaceId, bytes))
          },
        }
        const giveUp = (err: Error) => {
          stop()
          leave(workspaceId, waiter)
          reject(err)
          admitAll()
        }
        const onGone = () =>
          giveUp(new ClientGone('the client went away while its body waited for memory'))
        const timer = setTimeout(() => giveUp(serviceUnavailable('bodies')), rules.wait_ms)
        const stop = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', onGone)
        }
        signal?.addEventListener('abort', onGone)
        waiting.set(workspaceId, [...(waiting.get(workspaceId) ?? []), waiter])
        if (signal?.aborted) onGone()
        else admitAll()
      })
    },
  }
}
