// Unsubscribes a contact from the workflow whose mail he holds, and takes it back; each is one commit, and may repeat.

import { cancelExecutions } from '../../db/executions.ts'
import { recordAutomationEvent } from '../../db/recordAutomationEvent.ts'
import { lockContact } from '../../db/segments.ts'
import {
  deleteUnsubscribe,
  findUnsubscribeMail,
  insertUnsubscribe,
  isUnsubscribed,
  type UnsubscribeMail,
} from '../../db/workflowUnsubscribes.ts'
import type { Design } from '../../domain/design.ts'
import type { ApiDeps } from '../deps.ts'

type Deps = Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake'>

const REASON = 'unsubscribed'

/** The mail behind a token and whether its reader has left; undefined for an unknown token. */
export async function findUnsubscribe({ db }: Pick<Deps, 'db'>, token: string) {
  const mail = /^[\w-]{22}$/.test(token) ? await findUnsubscribeMail(db, token) : undefined
  if (!mail) return undefined
  return { mail, left: await isUnsubscribed(db, mail.workflow_id, mail.contact_id) }
}

/** Leaves: new executions are blocked, running ones are cancelled unless the workflow is to skip its sends alone. */
export async function unsubscribe(deps: Deps, mail: UnsubscribeMail): Promise<void> {
  const { db, now, newId, wake } = deps
  const at = now()
  const told = await db.transaction().execute(async (trx) => {
    if (!(await lockContact(trx, mail.contact_id))) return false
    if (!(await insertUnsubscribe(trx, mail, at))) return false
    const { settings } = mail.design as Design
    const cancelled =
      settings?.on_unsubscribe === 'skip_sends'
        ? []
        : await cancelExecutions(
            trx,
            mail.workspace_id,
            { workflowId: mail.workflow_id, contactId: mail.contact_id },
            REASON,
            at,
          )
    const recorded = await recordAutomationEvent(
      trx,
      { newId, now: at },
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
        at,
        contactProperties: null,
        createContact: false,
        chainDepth: mail.chain_depth,
      },
    )
    return cancelled.length > 0 || (recorded?.wroteOutbox ?? false)
  })
  if (told) wake('dripline_outbox')
}

/** Takes it back: new executions may start again; those that were cancelled stay so. */
export async function resubscribe({ db }: Pick<Deps, 'db'>, mail: UnsubscribeMail): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockContact(trx, mail.contact_id)
    await deleteUnsubscribe(trx, mail)
  })
}
