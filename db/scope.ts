// On whose behalf code runs, so that the pool knows whose share a connection counts in and when nobody waits for it.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { PostgresPoolClient } from 'kysely'
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
  /** That connection; null if there is none. */
  connection: PostgresPoolClient | null
  /**
   * Whether the work of the transaction is done, and its commit waits for the answer (`commands/heldCommit.ts`): what else
   * the scope reads it reads over the same connection then.
   */
  answering: boolean
}

const running = new AsyncLocalStorage<Running>()
/** What a process does by itself, for nobody who could go away. */
export const ofProcess: Scope = { owner: { kind: 'process' }, signal: null }

const runningIn = ({ owner, signal }: Scope): Running => ({
  owner,
  signal,
  inTransaction: false,
  connection: null,
  answering: false,
})

/** Runs `work`, and all that it waits for, on behalf of somebody. */
export function inScope<T>(scope: Scope, work: () => T): T {
  return running.run(runningIn(scope), work)
}

/** The scope of the code that asks; outside of every scope that of the process, new at each call. */
export function currentScope(): Running {
  return running.getStore() ?? runningIn(ofProcess)
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
