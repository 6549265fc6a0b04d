// Unsubscribes a contact from the workflow whose mail he holds, and takes it back; each is one commit, and may repeat.

import type { ApiDeps } from '../../api/http/env.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { listLinkFetches } from '../../db/tracking/reads.ts'
import { lockMailTracking } from '../../db/tracking/writes.ts'
import {
  findUnsubscribeMail,
  isUnsubscribed,
  type UnsubscribeMail,
} from '../../db/unsubscribes/reads.ts'
import { deleteUnsubscribe } from '../../db/unsubscribes/writes.ts'
import { SCAN_WINDOW_MS, showsScanner } from '../../rules/mail/machines.ts'
import { leaveWorkflow } from './leave.ts'

type Deps = Pick<ApiDeps, 'db' | 'now' | 'newId' | 'wake'>

/** The mail behind a token and whether its reader has left; undefined for an unknown token. */
export async function findUnsubscribe({ db }: Pick<Deps, 'db'>, token: string) {
  const mail = /^[\w-]{22}$/.test(token) ? await findUnsubscribeMail(db, token) : undefined
  if (!mail) return undefined
  return { mail, left: await isUnsubscribed(db, mail.workflow_id, mail.contact_id) }
}

/**
 * Leaves; running executions end with the reason. By GET it may be a scanner that follows every link of the mail: it
 * does nothing when the minute before shows one, and is undone when the minute after does (see recordTracking).
 * @returns false when nothing was done
 */
export async function unsubscribe(
  deps: Deps,
  mail: UnsubscribeMail,
  by: 'get' | 'post',
): Promise<boolean> {
  const { db, now, newId, wake } = deps
  const done = await db.transaction().execute(async (trx) => {
    await lockMailTracking(trx, mail.id)
    const at = now()
    const since = new Date(at.getTime() - SCAN_WINDOW_MS)
    if (by === 'get' && showsScanner(await listLinkFetches(trx, mail.id, since))) return null
    return { told: await leaveWorkflow(trx, { newId, now: at }, mail, by === 'get') }
  })
  if (done?.told) wake('dripline_outbox')
  return done !== null
}

/** Takes it back: new executions may start again; those that were cancelled stay so. */
export async function resubscribe({ db }: Pick<Deps, 'db'>, mail: UnsubscribeMail): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockContact(trx, mail.contact_id)
    await deleteUnsubscribe(trx, mail)
  })
}
