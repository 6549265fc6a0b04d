// Starts an execution by hand: one commit, then the starter is woken.
import { upsertContact } from '../../db/contacts.ts'
import { type ExecutionRow, findExecution } from '../../db/executionReads.ts'
import { insertManualStart } from '../../db/executions.ts'
import { mayEnter } from '../../db/reEntry.ts'
import { findWorkflow, findWorkflowVersion } from '../../db/workflows.ts'
import { isUnsubscribed } from '../../db/workflowUnsubscribes.ts'
import type { Design } from '../../domain/design.ts'
import { manualTrigger } from '../../domain/matchTrigger.ts'
import type { ApiDeps } from '../deps.ts'
import { conflict } from '../errors.ts'
import type { StartExecution } from '../schemas/executions.ts'

/**
 * Starts the active version at its manual trigger, or at its first one when it has none; filters are not asked.
 * An unknown address becomes a contact without events.
 * @returns undefined when the workspace has no such workflow
 * @throws ApiError 409 `workflow_not_active`, `contact_unsubscribed` or `re_entry_refused`
 */
export async function startExecution(
  { db, now, newId, wake }: Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake'>,
  workspaceId: string,
  workflowId: string,
  input: StartExecution,
): Promise<ExecutionRow | undefined> {
  const at = now()
  const properties = input.properties ?? {}
  const started = await db.transaction().execute(async (trx) => {
    const workflow = await findWorkflow(trx, workspaceId, workflowId)
    if (!workflow) return undefined
    if (workflow.status !== 'active') {
      throw conflict('Only an active workflow can be started', 'workflow_not_active')
    }
    const version = workflow.active_version
    const stored = await findWorkflowVersion(trx, workspaceId, workflowId, version)
    const trigger = stored && triggerOf(stored.design as Design)
    if (!trigger) throw new Error(`workflow ${workflowId} is active without a trigger`)

    const contact = await upsertContact(trx, {
      id: newId('contact'),
      workspaceId,
      email: input.email,
      now: at,
    })
    if (await isUnsubscribed(trx, workflowId, contact.id)) {
      throw conflict('The contact has unsubscribed from this workflow', 'contact_unsubscribed')
    }
    const entry = { contactId: contact.id, workflowId, now: at }
    if (!(await mayEnter(trx, entry, trigger.data.re_entry ?? null, properties))) {
      throw conflict('The re-entry rule keeps the contact out now', 're_entry_refused')
    }
    const id = newId('execution')
    await insertManualStart(trx, {
      id,
      workspaceId,
      workflowId,
      version,
      contactId: contact.id,
      email: input.email,
      triggerNodeId: trigger.id,
      properties,
      now: at,
    })
    return findExecution(trx, workspaceId, id)
  })
  if (started) wake('dripline_outbox')
  return started
}

function triggerOf(design: Design) {
  const manualId = manualTrigger(design)
  const triggers = design.nodes.flatMap((node) => (node.type === 'trigger' ? [node] : []))
  return triggers.find((trigger) => trigger.id === manualId) ?? triggers[0]
}
