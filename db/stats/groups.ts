// The parts of SQL that folding and reading statistics share: the counts, and the groups in which a change counts. What the API's
// `group` asks for is a kind here, and what its answers call `group` a value; each change counts once in the kind `domain`.
import { type RawBuilder, sql } from 'kysely'
import { type StatGroup, statCounts } from '../../rules/stats.ts'

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
