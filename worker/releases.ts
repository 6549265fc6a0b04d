// Starts the workflow functions that let go of what paused workflows have held, for each that is active again.
import type { Client } from '@temporalio/client'
import type { Db } from '../db/connect.ts'
import { listHolding } from '../db/executions/held.ts'
import { workflowIds, workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import type { ReleaseHeldInput } from '../workflows/messages.ts'
import { keepStarted } from './keepStarted.ts'

/** A look is one step into an index while nothing is held. @returns `stop` ends it */
export const startReleases = ({ db, client, log }: { db: Db; client: Client; log: Log }) =>
  keepStarted({
    client,
    log,
    list: (max) => listHolding(db, max),
    max: 100,
    run: ({ id: workflowId, workspace_id: workspaceId }) => ({
      type: workflowTypes.releaseHeld,
      workflowId: workflowIds.held(workflowId),
      input: { workflowId, workspaceId } satisfies ReleaseHeldInput,
    }),
    failed: 'held executions were not let go; tried again',
  })
