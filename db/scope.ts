// On whose behalf code runs, so that the pool knows whose share a connection counts in and when nobody waits for it.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { WorkspaceId } from '../rules/ids.ts'

/**
 * `workspace`: a request with a key. `process`: a look-up of a key, and what the process does by itself. `anonymous`: a
 * request without a key.
 */
export type Owner =
  | { kind: 'workspace'; workspaceId: WorkspaceId }
  | { kind: 'process' }
  | { kind: 'anonymous' }

export interface Scope {
  owner: Owner
  /** Aborted when the client of the request has gone; null if the work goes on without it. */
  signal: AbortSignal | null
}

export interface Running extends Scope {
  /** Whether a connection of this scope is inside a transaction. */
  inTransaction: boolean
}

const running = new AsyncLocalStorage<Running>()
const ofProcess: Scope = { owner: { kind: 'process' }, signal: null }

/** Runs `work`, and all that it waits for, on behalf of somebody. */
export function inScope<T>({ owner, signal }: Scope, work: () => T): T {
  return running.run({ owner, signal, inTransaction: false }, work)
}

/** The scope of the code that asks; outside of every scope that of the process, new at each call. */
export function currentScope(): Running {
  return running.getStore() ?? { ...ofProcess, inTransaction: false }
}

/** A signal that is aborted when all of these are; null if one of them is null, which never is. */
export function whenAllAbort(signals: readonly (AbortSignal | null)[]): AbortSignal | null {
  const together = new AbortController()
  let left = 0
  for (const signal of signals) {
    if (!signal) return null
    if (signal.aborted) continue
    left += 1
    signal.addEventListener('abort', () => {
      left -= 1
      if (left === 0) together.abort()
    })
  }
  if (left === 0) together.abort()
  return together.signal
}
