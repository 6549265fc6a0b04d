// Starts an execution by hand: one commit, as if its trigger had fired for the contact.

import type { StartExecution } from '../../api/executions/schemas.ts'
import type { ApiDeps } from '../../api/http/env.ts'
import { conflict, notFound } from '../../api/http/errors.ts'
import { type ExecutionRow, findExecution } from '../../db/executions/reads.ts'
import { insertManualStart } from '../../db/executions/writes.ts'
import { isUnsubscribed } from '../../db/unsubscribes/reads.ts'
import { findWorkflow, findWorkflowVersion } from '../../db/workflows/reads.ts'
import { manualTrigger } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { recordAutomationEvent } from '../events/record.ts'
import { mayEnter } from '../events/reEntry.ts'

/** What the contact's history shows of a manual start; it makes the contact when he is new, as any event does. */
const MANUAL_EVENT = 'workflow.started_manually'

/**
 * Starts at the manual trigger, or at the first one when there is none; its re-entry rule holds, its filter does not.
 * @throws ApiError 404, 409 `workflow_not_active`, `contact_unsubscribed` or `re_entry_refused`
 */
export async function startExecution(
  { db, newId, now, wake }: Pick<ApiDeps, 'db' | 'newId' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  workflowId: string,
  input: StartExecution,
): Promise<ExecutionRow> {
  const workflow = await findWorkflow(db, workspaceId, workflowId)
  if (!workflow) throw notFound(`Workflow ${workflowId} not found`)
  const version = workflow.active_version
  const stored = await findWorkflowVersion(db, workspaceId, workflowId, version)
  if (workflow.status !== 'active' || !stored) {
    throw conflict('Only an active workflow can be started', 'workflow_not_active')
  }
  const design = stored.design as Design
  const trigger = triggerOf(design)
  if (!trigger) throw new Error(`active workflow ${workflowId} has no trigger`)

  const id = newId('execution')
  const at = now()
  const properties = input.properties ?? {}
  const row = await db.transaction().execute(async (trx) => {
    const recorded = await recordAutomationEvent(
      trx,
      { newId, now: at },
      {
        workspaceId,
        eventId: null,
        eventName: MANUAL_EVENT,
        email: input.email,
        properties: { workflow_id: workflowId, execution_id: id },
        at,
        contactProperties: null,
        createContact: true,
      },
    )
    if (!recorded) throw new Error('a contact that may be made was not made')
    const { contactId } = recorded
    if (await isUnsubscribed(trx, workflowId, contactId)) {
      throw conflict('The contact has unsubscribed from this workflow', 'contact_unsubscribed')
    }
    const entry = { contactId, workflowId, now: at }
    if (!(await mayEnter(trx, entry, trigger.data.re_entry ?? null, properties))) {
      throw conflict('The re-entry rule of the trigger keeps the contact out', 're_entry_refused')
    }
    const start = { id, workspaceId, workflowId, version, contactId, email: input.email }
    await insertManualStart(trx, { ...start, triggerNodeId: trigger.id, properties, now: at })
    return findExecution(trx, workspaceId, id)
  })
  if (!row) throw new Error('an execution that was started has no row')
  wake('dripline_outbox')
  return row
}

function triggerOf(design: Design) {
  const manualId = manualTrigger(design)
  const triggers = design.nodes.flatMap((node) => (node.type === 'trigger' ? [node] : []))
  return triggers.find((trigger) => trigger.id === manualId) ?? triggers[0]
}
