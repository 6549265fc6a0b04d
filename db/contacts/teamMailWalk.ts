// Walks once over all mail of an erased contact's executions, in pages: however much there is, each page reads its own alone.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { EndedStatus } from '../../rules/states.ts'
import type { Trx } from '../connect.ts'
import type { Erased } from './erase.ts'
import { endedNext } from './executionWalk.ts'
import { isToBlank } from './teamMail.ts'

/** The last that was walked over. An erased contact's executions have all ended; they are walked over in the order of an index. */
export interface TeamPlace {
  status: EndedStatus
  /** When the execution ended, ms. */
  at: number
  execution: string
  /** The last mail of that execution; '' before the first. */
  mail: string
}

/** A mail of an execution that was walked over, or one without a mail on this page. */
interface WalkedRow {
  execution_id: string
  /** As in `TeamPlace`. */
  at: number
  email_id: string | null
  to_blank: boolean
}

/**
 * The mails behind a place that `listTeamMail` would list, and the next place. What has not ended yet is passed over.
 * @param after null begins
 * @param limit executions, of which there are at least two on a page, and mails
 * @returns `next`: null after the last page
 */
export async function walkTeamMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactId, email }: Pick<Erased, 'contactId' | 'email'>,
  { after, limit }: { after: TeamPlace | null; limit: number },
): Promise<{ ids: string[]; next: TeamPlace | null }> {
  const from = after ?? startAfter(null)
  if (!from) return { ids: [], next: null }
  const { rows } = await sql<WalkedRow>`
    with walked as materialized (
      select id, completed_at from executions
      where workspace_id = ${workspaceId} and contact_id = ${contactId} and ended_status = ${from.status}
        and (completed_at, id) >= (${new Date(from.at)}::timestamptz, ${from.execution}::text)
      order by completed_at, id limit ${limit}
    ), page as materialized (
      select w.id as execution_id, m.id
      from walked w cross join lateral (
        select m.id from emails m
        where m.execution_id = w.id and m.id > case w.id when ${from.execution}::text then ${from.mail}::text else '' end
        order by m.id nulls first limit ${limit}) m
      order by w.completed_at, w.id, m.id limit ${limit}
    )
    select w.id as execution_id, coalesce((extract(epoch from w.completed_at) * 1000)::bigint, 0) as at, p.id as email_id,
      coalesce((select ${isToBlank(email)} from emails m where m.id = p.id), false) as to_blank
    from walked w left join page p on p.execution_id = w.id
    order by w.completed_at, w.id, p.id
  `.execute(trx)
  const other = startAfter(from.status)
  if (rows.length === 0 && other) {
    return walkTeamMail(trx, workspaceId, { contactId, email }, { after: other, limit })
  }
  const mails = rows.filter(({ email_id }) => email_id !== null)
  const isFull = mails.length === limit
  const last = isFull ? mails.at(-1) : rows.at(-1)
  const executions = new Set(rows.map(({ execution_id }) => execution_id)).size
  return {
    ids: mails.flatMap(({ email_id, to_blank }) => (to_blank && email_id ? email_id : [])),
    next: last && (isFull || executions === limit) ? placeOf(from.status, last) : other,
  }
}

const placeOf = (status: EndedStatus, { at, execution_id, email_id }: WalkedRow): TeamPlace => ({
  status,
  at,
  execution: execution_id,
  mail: email_id ?? '',
})

/** Before all executions that ended in the next way; null: there is none. */
function startAfter(status: EndedStatus | null): TeamPlace | null {
  const next = endedNext(status)
  return next ? { status: next, at: 0, execution: '', mail: '' } : null
}
