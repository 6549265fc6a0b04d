// The memory for bodies: who may have how much at once, and in which order those who wait get it.
import { ApiError } from '../errors.ts'
import type { BudgetRules } from './rules.ts'

const RETRY_AFTER_S = '5'

/** Memory that a body may use. */
export interface Grant {
  /** Gives back what is over `bytes`. */
  shrink(bytes: number): void
  /** Gives everything back; later calls change nothing. */
  release(): void
}

interface Waiter {
  bytes: number
  admit(): void
}

/**
 * Makes the budget of a process. Whoever fits gets memory at once. Otherwise they wait: in turns by workspace, within
 * one in the order in which they came. Nobody passes the one whose turn it is, so small bodies do not keep a large one
 * waiting for ever; but a workspace that has used up its share keeps no other one waiting.
 */
export function createBodyBudget(rules: BudgetRules) {
  let used = 0
  const usedBy = new Map<string, number>()
  /** Those who wait, by workspace; the first workspace is the next one. */
  const waiting = new Map<string, Waiter[]>()

  const add = (workspaceId: string, bytes: number) => {
    used += bytes
    const share = (usedBy.get(workspaceId) ?? 0) + bytes
    if (share > 0) usedBy.set(workspaceId, share)
    else usedBy.delete(workspaceId)
  }
  const fitsShare = (workspaceId: string, bytes: number) =>
    (usedBy.get(workspaceId) ?? 0) + bytes <= rules.workspaceBytesMax
  const fitsProcess = (bytes: number) => used + bytes <= rules.processBytesMax

  /** Takes one out of the queue of its workspace. */
  const leave = (workspaceId: string, waiter: Waiter) => {
    const queue = (waiting.get(workspaceId) ?? []).filter((other) => other !== waiter)
    if (queue.length > 0) waiting.set(workspaceId, queue)
    else waiting.delete(workspaceId)
  }

  /** Admits the next one that fits. @returns false if there is none */
  const admitNext = (): boolean => {
    for (const [workspaceId, queue] of waiting) {
      const [first] = queue
      if (!first || !fitsShare(workspaceId, first.bytes)) continue
      if (!fitsProcess(first.bytes)) return false
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

  const grant = (workspaceId: string, bytes: number): Grant => {
    let held = bytes
    add(workspaceId, held)
    const shrink = (wanted: number) => {
      const over = held - Math.min(held, wanted)
      if (over === 0) return
      held -= over
      add(workspaceId, -over)
      admitAll()
    }
    return { shrink, release: () => shrink(0) }
  }

  return {
    /** Bytes in use, and how many wait: for tests and metrics. */
    state: () => ({ used, waiting: [...waiting.values()].flat().length }),
    /** Whether somebody waits. */
    isContended: () => waiting.size > 0,
    /**
     * Waits for memory.
     * @param signal when the client has gone
     * @throws ApiError 503 `service_unavailable` after `wait_ms`, or when the client has gone
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
        const giveUp = () => {
          stop()
          leave(workspaceId, waiter)
          reject(tooBusy())
          admitAll()
        }
        const timer = setTimeout(giveUp, rules.wait_ms)
        const stop = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', giveUp)
        }
        signal?.addEventListener('abort', giveUp)
        waiting.set(workspaceId, [...(waiting.get(workspaceId) ?? []), waiter])
        if (signal?.aborted) giveUp()
        else admitAll()
      })
    },
  }
}

const tooBusy = () =>
  new ApiError(
    503,
    'service_unavailable',
    'The service is reading as many large bodies as it can; try again shortly',
    { headers: { 'Retry-After': RETRY_AFTER_S } },
  )
