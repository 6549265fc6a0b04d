// What every route and command of the API is given.

import type { Db } from '../../db/connect.ts'
import type { Row } from '../../db/schema.ts'
import type { Wake } from '../../db/wake.ts'
import type { NewId, WorkspaceId } from '../../rules/ids.ts'
import type { Config } from '../../runtime/config.ts'
import type { Log } from '../../runtime/log.ts'
import type { Secrets } from '../../runtime/secrets.ts'
import type { TemporalReads } from '../../runtime/temporalReads.ts'
import type { KeyCache } from './auth.ts'
import type { Cursors } from './cursor.ts'

export interface ApiDeps {
  db: Db
  config: Config
  log: Log
  now: () => Date
  newId: NewId
  secrets: Secrets
  temporal: TemporalReads
  /** Tells waiting workers that rows were committed for them. */
  wake: Wake
  cursors: Cursors
  keyCache: KeyCache
}

/** The key of this request, as the handlers see it. */
export type RequestKey = Pick<
  Row<'api_keys'>,
  'id' | 'workspace_id' | 'user_id' | 'permission' | 'domain_id'
>

export interface ApiEnv {
  Variables: {
    requestId: string
    key: RequestKey
    workspaceId: WorkspaceId
    /** The spec's text for an unforeseen failure of this operation. */
    failureText: string
  }
}
