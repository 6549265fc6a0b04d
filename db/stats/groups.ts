// The parts of SQL that folding and reading statistics share: the counts, and the groups in which a change counts. What the API's
// `group` asks for is a kind here, and what its answers call `group` a value; each change counts once in the kind `domain`.
import { type RawBuilder, sql } from 'kysely'
import { limits } from '../../rules/limits.ts'
import { OTHER_GROUP, type StatGroup, statCounts } from '../../rules/stats.ts'

/** The columns of the counts. */
export const countColumns: RawBuilder<unknown> = sql.join(statCounts.map((name) => sql.ref(name)))

/** Their sums over the rows of a relation, by their names. */
export const sumsOf = (relation: string): RawBuilder<unknown> =>
  sql.join(
    statCounts.map(
      (name) => sql`sum(${sql.ref(`${relation}.${name}`)})::bigint as ${sql.ref(name)}`,
    ),
  )

/** What an upsert into `e` adds to them. */
export const addedCounts: RawBuilder<unknown> = sql.join(
  statCounts.map(
    (name) => sql`${sql.ref(name)} = ${sql.ref(`e.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
  ),
)

const valuesOf: Record<StatGroup, (change: string) => RawBuilder<unknown>> = {
  domain: () => sql`select 'domain' as kind, '' as value`,
  provider: (change) => sql`select 'provider' as kind, ${sql.ref(`${change}.provider`)} as value`,
  workflow: (change) => idOf('workflow', `${change}.workflow_id`),
  broadcast: (change) => idOf('broadcast', `${change}.broadcast_id`),
  // Two tags may read the same: {"a": "b:c"} and {"a:b": "c"}.
  tag: (change) => sql`select distinct 'tag' as kind, t.key || ':' || t.value as value
    from jsonb_each_text(${sql.ref(`${change}.tags`)}) t where t.value is not null`,
}

const idOf = (kind: 'workflow' | 'broadcast', column: string) =>
  sql`select ${sql.lit(kind)} as kind, ${sql.ref(column)} as value where ${sql.ref(column)} is not null`

/** A query of the kinds and values in which a change counts: of one kind, or of all. */
export function groupsOf(change: string, kind?: StatGroup): RawBuilder<unknown> {
  if (kind) return valuesOf[kind](change)
  return sql.join(
    Object.values(valuesOf).map((values) => values(change)),
    sql` union all `,
  )
}

/**
 * Steps of a `with` that end in `placed`: the changes of a relation by the values in which they count, of one kind or of all, each with
 * `shown`, the value under which it stands. A domain has room for so many values of a kind in an hour, but any number of providers, which
 * are few; those that changes named first have it, all further ones are `other`. So it makes no difference how much of it is folded already,
 * and what is read before a fold is what is read after it.
 * @param changes a relation as email_stat_changes, named `g`, with what holds for its rows
 */
export const placedSteps = (
  changes: { from: RawBuilder<unknown>; where: RawBuilder<unknown> },
  kind?: StatGroup,
): RawBuilder<unknown> => sql`spread as (
      select g.workspace_id, v.kind, g.hour, g.domain_id, v.value, min(g.id) as first_id, ${sumsOf('g')}
      from ${changes.from} cross join lateral (${groupsOf('g', kind)}) v
      where ${changes.where} group by 1, 2, 3, 4, 5
    ), known as (
      select s.*, case when s.kind in ('domain', 'provider') or s.value = ${OTHER_GROUP} then true else coalesce((
        select true from email_stats k where k.workspace_id = s.workspace_id and k.kind = s.kind and k.hour = s.hour
          and k.domain_id = s.domain_id and k.value = s.value limit 1), false) end as is_known
      from spread s
    ), room as (
      select o.*, (select count(*) from (
        select from email_stats t where t.workspace_id = o.workspace_id and t.kind = o.kind and t.hour = o.hour
          and t.domain_id = o.domain_id and t.value <> ${OTHER_GROUP}
        limit ${limits.statGroupsPerHourMax}::int) counted) as taken
      from (select distinct workspace_id, kind, hour, domain_id from known where not is_known) o
    ), placed as (
      select k.*, case when k.is_known or r.taken + row_number() over (
          partition by k.workspace_id, k.kind, k.hour, k.domain_id, k.is_known order by k.first_id, k.value
        ) <= ${limits.statGroupsPerHourMax}::int then k.value else ${OTHER_GROUP} end as shown
      from known k left join room r using (workspace_id, kind, hour, domain_id)
    )`
