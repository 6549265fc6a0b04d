// The dependencies and variables of every route.

import type { KeyNews, RequestKey } from '../../commands/api-keys/keyCache.ts'
import type { RevokingDeps } from '../../commands/deps.ts'
import type { DailyLimit } from '../../commands/limits/daily.ts'
import type { NamedRequest } from '../../commands/once.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Config } from '../../runtime/config.ts'
import type { Log } from '../../runtime/log.ts'
import type { TemporalReads } from '../../runtime/temporalReads.ts'
import type { Cursors } from './cursor.ts'
import type { ErrorShape } from './errors.ts'
import type { ApiMetrics } from './metrics.ts'

/** The dependencies of commands, and those for reading. */
export interface ApiDeps extends RevokingDeps {
  config: Config
  log: Log
  temporal: TemporalReads
  /** Whether Postgres answers, over a connection of its own. Never throws. */
  isDatabaseThere: () => Promise<boolean>
  cursors: Cursors
  /** Without it keys are cached for a second. */
  keyNews?: KeyNews
  apiMetrics: ApiMetrics
  /** Counts the emails of this application. */
  daily: DailyLimit
}

/** What an application is made from; the rest of its dependencies it makes itself. */
export type AppDeps = Omit<ApiDeps, 'keysRevoked' | 'daily'>

export interface ApiEnv {
  Variables: {
    requestId: string
    key: RequestKey
    /** For what the whole workspace shares: contacts, audiences, suppressions, designs. */
    workspaceId: WorkspaceId
    /** For mail, domains, keys, and whatever sends: the key may be bound to one domain. */
    reach: Reach
    /** A request with an Idempotency-Key; absent for all others. */
    namedRequest?: NamedRequest
    /** The error shape of the request; absent for public routes, which have shape A. */
    errors?: ErrorShape
    /** The contract's text for an unexpected failure of this operation. */
    failureText: string
  }
}
