// Mail that an erased contact's executions have sent to the team: it is about the contact, so it ends and is blanked with their own. It is found
// by its execution, since none of its recipients is the contact.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { isFreeById, isWaiting } from '../deliveries/guards.ts'
import { blankContents, type ErasedAddress } from './blank.ts'
import type { Erased } from './erase.ts'

/** Emails `m` of the contact's executions, also of those that have ended. */
const ofExecutions = (workspaceId: WorkspaceId, contactId: string) => sql`
  from executions x join emails m on m.execution_id = x.id
  where x.workspace_id = ${workspaceId} and x.contact_id = ${contactId}`

/**
 * Cancels mail of the contact's executions that waits, copies for the team too. What a lane has claimed is passed over: the lane settles it, or it
 * comes back and is found by the next page. Nobody is told of it before it is blanked.
 * @returns how much of it
 */
export async function cancelTeamMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  { now, limit }: { now: Date; limit: number },
): Promise<number> {
  const { rows } = await sql`
    update deliveries d set state = 'cancelled', scheduled = false, settled_at = ${now}::timestamptz from (
      select id from deliveries
      where email_id = any(array(select m.id ${ofExecutions(workspaceId, contactId)}))
        and workspace_id = ${workspaceId} and ${isFreeById} and ${isWaiting}
      order by id limit ${limit} for update skip locked) waiting
    where d.id = waiting.id returning d.id`.execute(trx)
  return rows.length
}

/** Of a delivery `d` that `cancelTeamMail` has ended, or a claim. */
const isUntold = sql`d.state = 'cancelled' and not exists (select from email_events e
  where e.email_id = d.email_id and e.recipient = d.recipient and e.status = 'bounced')`

/** That an email `m` still has content, or nobody was told of its end. */
const isUnblanked = sql`(m.subject <> '' or m.html is not null or m.text is distinct from '' or m.headers <> '{}' or m.tags <> '{}'
        or m.metadata <> '{}' or exists (select from deliveries d where d.email_id = m.id and ${isUntold}))`

/** That an email `m` is to be blanked: it has ended for all, and the contact, if they have got it too, is no recipient any more. */
export const isToBlank = (email: string) => sql<boolean>`(${isUnblanked}
      and not exists (select from deliveries d
        where d.email_id = m.id and (d.settled_at is null or lower(d.recipient) = ${email})))`

/** The next of it that is to be blanked. It reads all of it: `walkTeamMail` comes first, and this one finds what that has passed over. */
export async function listTeamMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactId, email }: Pick<Erased, 'contactId' | 'email'>,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select m.id ${ofExecutions(workspaceId, contactId)} and ${isToBlank(email)}
    order by m.id limit ${limit}`.execute(trx)
  return rows.map(({ id }) => id)
}

/** Whether mail of the contact's executions is under way, or has ended since it was listed. */
export async function hasTeamMailLeft(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 ${ofExecutions(workspaceId, contactId)}
      and (${isUnblanked} or exists (select from deliveries d where d.email_id = m.id and d.settled_at is null))
    limit 1`.execute(trx)
  return rows.length > 0
}

/**
 * Takes the content out of such mail, and out of what webhooks are told of it; the team stays its recipient. Then it tells of what was cancelled.
 * The caller holds the tracking lock of each mail, and its deliveries.
 */
export async function blankTeamMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: ErasedAddress,
  { ids, now }: { ids: readonly string[]; now: Date },
): Promise<void> {
  if (ids.length === 0) return
  const ended = { loses_content: true, is_shared: true, is_of_team: true }
  await blankContents(
    trx,
    workspaceId,
    whom,
    ids.map((email_id) => ({ email_id, ...ended })),
  )
  await sql`
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select d.email_id, ${workspaceId}, d.recipient, 'bounced', ${now}::timestamptz,
      '{"type": "Permanent", "subtype": "Cancelled"}'
    from deliveries d
    where d.workspace_id = ${workspaceId} and d.email_id = any(${[...ids]}::text[]) and ${isUntold}
    order by d.id`.execute(trx)
}
