// Unsubscribes a contact from the workflow whose mail he holds, and takes it back; each is one commit, and may repeat.
import { leaveWorkflow } from '../../db/leaveWorkflow.ts'
import { lockContact } from '../../db/segments.ts'
import {
  deleteUnsubscribe,
  findUnsubscribeMail,
  isUnsubscribed,
  type UnsubscribeMail,
} from '../../db/workflowUnsubscribes.ts'
import type { ApiDeps } from '../deps.ts'

type Deps = Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake'>

/** The mail behind a token and whether its reader has left; undefined for an unknown token. */
export async function findUnsubscribe({ db }: Pick<Deps, 'db'>, token: string) {
  const mail = /^[\w-]{22}$/.test(token) ? await findUnsubscribeMail(db, token) : undefined
  if (!mail) return undefined
  return { mail, left: await isUnsubscribed(db, mail.workflow_id, mail.contact_id) }
}

/** Leaves; running executions end with the reason. */
export async function unsubscribe(deps: Deps, mail: UnsubscribeMail): Promise<void> {
  const { db, now, newId, wake } = deps
  const at = { newId, now: now() }
  const told = await db.transaction().execute((trx) => leaveWorkflow(trx, at, mail))
  if (told) wake('dripline_outbox')
}

/** Takes it back: new executions may start again; those that were cancelled stay so. */
export async function resubscribe({ db }: Pick<Deps, 'db'>, mail: UnsubscribeMail): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockContact(trx, mail.contact_id)
    await deleteUnsubscribe(trx, mail)
  })
}
