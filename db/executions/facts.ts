// Reads facts about a contact and an execution for conditions.

import { sql } from 'kysely'
import { idPrefixes, type WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { isLiveAudience } from '../audiences/live.ts'
import type { Trx } from '../connect.ts'

/**
 * The times (ms) of the contacts' events of these names, by contact and name, oldest first; of each name the latest
 * `eventTimesCountedMax`. Each contact is in the map.
 */
export async function listEventTimes(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactIds: readonly string[],
  names: string[],
): Promise<Map<string, Record<string, number[]>>> {
  const { rows } = await sql<{ contact_id: string; event_name: string; times: number[] }>`
    select c.contact_id, n.event_name, array(
      select (extract(epoch from a.at) * 1000)::float8 from automation_events a
      where a.workspace_id = ${workspaceId} and a.contact_id = c.contact_id
        and a.event_name = n.event_name
      order by a.at desc limit ${limits.eventTimesCountedMax}) as times
    from unnest(${[...contactIds]}::text[]) as c (contact_id)
      cross join unnest(${names}::text[]) as n(event_name)
  `.execute(trx)
  const found = new Map<string, Record<string, number[]>>(contactIds.map((id) => [id, {}]))
  for (const { contact_id, event_name, times } of rows) {
    found.set(contact_id, { ...found.get(contact_id), [event_name]: times.reverse() })
  }
  return found
}

/**
 * The statuses that emails of these executions have reached at their contacts, by execution and send_email node; what machines
 * opened is left out, and what became of copies for the team. One without such emails is not in the map.
 */
export async function listEmailActivity(
  trx: Trx,
  workspaceId: WorkspaceId,
  executionIds: readonly string[],
): Promise<Map<string, Record<string, string[]>>> {
  const { rows } = await sql<{ execution_id: string; node_id: string; statuses: string[] }>`
    select m.execution_id, m.node_id, array_agg(distinct v.status) as statuses
    from emails m join email_events v on v.email_id = m.id and v.machine is null
      join deliveries d on d.email_id = m.id and d.recipient = v.recipient and not d.to_team
    where m.workspace_id = ${workspaceId} and m.execution_id = any(${executionIds}::text[])
      and m.node_id is not null
    group by m.execution_id, m.node_id
  `.execute(trx)
  const found = new Map<string, Record<string, string[]>>()
  for (const { execution_id, node_id, statuses } of rows) {
    found.set(execution_id, { ...found.get(execution_id), [node_id]: statuses })
  }
  return found
}

/** The audiences among `audienceIds` that contain these addresses (lower case), by address; one that is in none is not in the map. */
export async function listMemberships(
  trx: Trx,
  workspaceId: WorkspaceId,
  emails: readonly string[],
  audienceIds: string[],
): Promise<Map<string, string[]>> {
  const rows = await trx
    .selectFrom('audience_contacts')
    .select(['email', 'audience_id'])
    .where('workspace_id', '=', workspaceId)
    .where('email', 'in', emails)
    .where('audience_id', 'in', audienceIds)
    .where(isLiveAudience(sql.ref('audience_contacts.audience_id')))
    .execute()
  const found = new Map<string, string[]>()
  for (const { email, audience_id } of rows) {
    found.set(email, [...(found.get(email) ?? []), audience_id])
  }
  return found
}

/** How far behind its coming an event's own time is looked for, ms. */
const BEHIND_MS_MAX = limits.eventBehindMsMax

/**
 * Which of these events have come for a contact since an execution was started, at `since`: not the one that started it, none
 * before that, and none that told of the past. What came first is said by the number of the contact's events, which is counted under
 * their lock: the clocks of two processes differ. Where one of the two has no such number the times tell, and of one millisecond the
 * ids, which increase.
 */
export async function listArrivedNames(
  trx: Trx,
  workspaceId: WorkspaceId,
  look: { contactId: string; names: string[]; since: Date; executionId: string },
): Promise<string[]> {
  const { contactId, names, since, executionId } = look
  const idAtStart = executionId.replace(idPrefixes.execution, idPrefixes.automationEvent)
  const rows = await trx
    .selectFrom('automation_events as a')
    .innerJoin('executions as x', (join) => join.on('x.id', '=', executionId))
    .select('a.event_name')
    .distinct()
    .where('a.workspace_id', '=', workspaceId)
    .where('a.contact_id', '=', contactId)
    .where('a.event_name', 'in', names)
    .where('a.at', '>', new Date(since.getTime() - BEHIND_MS_MAX))
    .where((eb) =>
      eb.or([
        eb('a.ordinal', '>', eb.ref('x.events_before')),
        eb.and([
          eb.or([eb('a.ordinal', 'is', null), eb('x.events_before', 'is', null)]),
          eb.or([
            eb('a.created_at', '>', since),
            eb.and([eb('a.created_at', '=', since), eb('a.id', '>', idAtStart)]),
          ]),
        ]),
      ]),
    )
    .where('a.historical', '=', false)
    .execute()
  return rows.map((row) => row.event_name)
}

/** How many of the latest `most` mails of an execution were written after `since`. */
export async function countRecentMails(
  trx: Trx,
  workspaceId: WorkspaceId,
  { executionId, since, most }: { executionId: string; since: Date; most: number },
): Promise<number> {
  const rows = await trx
    .selectFrom('emails')
    .select('created_at')
    .where('workspace_id', '=', workspaceId)
    .where('execution_id', '=', executionId)
    .orderBy('id', (id) => id.desc().nullsLast())
    .limit(most)
    .execute()
  return rows.filter(({ created_at }) => created_at > since).length
}

/**
 * When the latest marketing mails of the workspace for an address were written, ms, the latest first; what was stopped on its way
 * does not count.
 * @param look.hmac HMAC of the address; `since`: none of then or before
 */
export async function listMarketingTimes(
  trx: Trx,
  workspaceId: WorkspaceId,
  { hmac, since, limit }: { hmac: Buffer; since: Date; limit: number },
): Promise<number[]> {
  const rows = await trx
    .selectFrom('deliveries')
    .select('created_at')
    .where('workspace_id', '=', workspaceId)
    .where('address_hmac', '=', hmac)
    .where('marketing', '=', sql.lit(true))
    .where('to_team', '=', false)
    .where('created_at', '>', since)
    .where('state', 'not in', ['cancelled', 'suppressed'])
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.created_at.getTime())
}
