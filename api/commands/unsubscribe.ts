// Leaving a workflow by the link in its mail, and coming back; both may be asked for any number of times.
import { cancelExecutions } from '../../db/executions.ts'
import { recordAutomationEvent } from '../../db/recordAutomationEvent.ts'
import { lockContact } from '../../db/segments.ts'
import {
  deleteUnsubscribe,
  insertUnsubscribe,
  type UnsubscribeMail,
} from '../../db/workflowUnsubscribes.ts'
import type { Design } from '../../domain/design.ts'
import type { ApiDeps } from '../deps.ts'

type Deps = Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake'>

/**
 * Takes the contact out of the workflow, once: no new executions, the running ones cancelled (unless its settings
 * only skip sends), `email.unsubscribed` recorded, all in one commit.
 */
export async function unsubscribe(deps: Deps, mail: UnsubscribeMail): Promise<void> {
  const { db, newId, wake } = deps
  const now = deps.now()
  const { on_unsubscribe } = (mail.design as Partial<Design>).settings ?? {}
  const wroteOutbox = await db.transaction().execute(async (trx) => {
    await lockContact(trx, mail.contact_id)
    if (!(await insertUnsubscribe(trx, mail, now))) return false
    const cancelled =
      on_unsubscribe === 'skip_sends'
        ? []
        : await cancelExecutions(
            trx,
            mail.workspace_id,
            { workflowId: mail.workflow_id, contactId: mail.contact_id },
            'unsubscribed',
            now,
          )
    const recorded = await recordAutomationEvent(
      trx,
      { newId, now },
      {
        workspaceId: mail.workspace_id,
        eventId: null,
        eventName: 'email.unsubscribed',
        email: mail.email,
        properties: {
          email_id: mail.id,
          subject: mail.subject,
          workflow_id: mail.workflow_id,
          execution_id: mail.execution_id,
          node_id: mail.node_id,
        },
        at: now,
        contactProperties: null,
        createContact: false,
        chainDepth: mail.chain_depth,
      },
    )
    return cancelled.length > 0 || (recorded?.wroteOutbox ?? false)
  })
  if (wroteOutbox) wake('dripline_outbox')
}

/** Lets the contact into the workflow again; what was cancelled stays so. */
export async function undoUnsubscribe({ db }: Deps, mail: UnsubscribeMail): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockContact(trx, mail.contact_id)
    await deleteUnsubscribe(trx, mail)
  })
}
