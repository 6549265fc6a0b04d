// What every route of the API is given.

import type { RevokingDeps } from '../../commands/deps.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Config } from '../../runtime/config.ts'
import type { Log } from '../../runtime/log.ts'
import type { TemporalReads } from '../../runtime/temporalReads.ts'
import type { Cursors } from './cursor.ts'
import type { ErrorShape } from './errors.ts'
import type { RequestKey } from './keyCache.ts'

/** What its commands take, and what reading needs besides. */
export interface ApiDeps extends RevokingDeps {
  config: Config
  log: Log
  temporal: TemporalReads
  cursors: Cursors
}

export interface ApiEnv {
  Variables: {
    requestId: string
    key: RequestKey
    workspaceId: WorkspaceId
    /** The shape of this request's errors; absent where no key is asked for, which is shape A. */
    errors?: ErrorShape
    /** The spec's text for an unforeseen failure of this operation. */
    failureText: string
  }
}
