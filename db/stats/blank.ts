// Takes an address out of the tags by which mail is counted.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { wholeAddress } from '../contacts/wholeAddress.ts'
import { addedCounts, countColumns, sumsOf } from './groups.ts'

/** A count by tag, by its key. */
export interface TagPlace {
  hour: number
  domain_id: string
  value: string
}

/** Takes the address out of the tags of what is not counted yet. The caller has blanked the tags of mail. */
export async function blankTagChanges(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
): Promise<void> {
  const pattern = wholeAddress(email)
  await sql`
    update email_stat_changes c set tags = (
      select coalesce(jsonb_object_agg(regexp_replace(t.key, ${pattern}, 'erased', 'gi'),
        regexp_replace(t.value, ${pattern}, 'erased', 'gi')), '{}') from jsonb_each_text(c.tags) t)
    where c.workspace_id = ${workspaceId} and lower(c.tags::text) ~ ${pattern}
  `.execute(trx)
}

/**
 * Takes the address out of the next tags by which mail is counted; what was counted by several is counted by one then. The caller has taken
 * it out of changes before: one that was folded meanwhile is found where it was folded to.
 * @returns how many were looked at, and the last of those that do not name it
 */
export async function blankTags(
  trx: Trx,
  workspaceId: WorkspaceId,
  email: string,
  { after, limit }: { after: TagPlace | null; limit: number },
): Promise<{ looked: number; last: TagPlace | null }> {
  const pattern = wholeAddress(email)
  const isAfter = after
    ? sql`(hour, domain_id, value) > (${after.hour}::integer, ${after.domain_id}, ${after.value})`
    : sql`true`
  const { rows } = await sql<{ looked: number; last: TagPlace | null }>`
    with page as (
      select hour, domain_id, value, lower(value) ~ ${pattern} as is_named from email_stats
      where workspace_id = ${workspaceId} and kind = 'tag' and ${isAfter}
      order by hour, domain_id, value limit ${limit}
    ), named as (
      delete from email_stats s using page where page.is_named and s.workspace_id = ${workspaceId} and s.kind = 'tag'
        and s.hour = page.hour and s.domain_id = page.domain_id and s.value = page.value
      returning s.*
    ), renamed as (
      insert into email_stats as e (workspace_id, kind, hour, domain_id, value, ${countColumns})
      select n.workspace_id, n.kind, n.hour, n.domain_id, regexp_replace(n.value, ${pattern}, 'erased', 'gi'), ${sumsOf('n')}
      from named n group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
      on conflict (workspace_id, kind, hour, domain_id, value) do update set ${addedCounts}
    )
    select count(*)::integer as looked, (
      select json_build_object('hour', hour, 'domain_id', domain_id, 'value', value) from page where not is_named
      order by hour desc, domain_id desc, value desc limit 1) as last
    from page
  `.execute(trx)
  const [row] = rows
  if (!row) throw new Error('a page of tags was answered by no row')
  return row
}
