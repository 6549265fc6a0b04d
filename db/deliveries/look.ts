// The last look before an attempt, and before its final dot: whether the recipient has left or is suppressed meanwhile.

import { type RawBuilder, sql } from 'kysely'
import { isAboutWorkflow, standsFrom } from '../opt-outs/reads.ts'

/**
 * What the look finds. `suppressed`: the address is on the suppression list. `left`: they left what sent it.
 * `cancelled`: the execution that sent it was cancelled, or the recipient is being erased. `wait`: it is known later whether they left.
 */
export type Verdict = 'suppressed' | 'left' | 'cancelled' | 'wait'

/** A claim that cannot look at a mail yet, since a worker has not filled it in, comes back to it after this time. */
const UNLOOKED = '5 seconds'

/** What `look` needs of a delivery. */
export const lookedAt = sql`ctid as place, id, state, workspace_id, email_id, recipient, marketing, address_hmac,
  own_hmac, workflow_id, execution_id`

/**
 * The look at the relation `due`, which has the columns `lookedAt`, as a `select` of its id, its `state` as `was`,
 * `verdict` (null: nothing stops it) and `until` (of `wait`). Each part is one step down an index for each row, whatever
 * the tables hold: `limit` and the aggregate keep the planner from reading a whole table for a hash. An execution is found
 * by its id alone, so that no other index can look better.
 *
 * Opt-outs stop marketing mail alone, of what they are about. Mail of an audience or a broadcast does not exist yet.
 */
export function look(due: RawBuilder<unknown>, now: Date): RawBuilder<unknown> {
  return sql`
    select d.id, d.place, d.state as was,
      case when s.suppressed or g.suppressed then 'suppressed'
        when o.stands_from <= ${now} then 'left'
        when e.erased or x.cancelled then 'cancelled'
        when o.stands_from is not null or u.unlooked then 'wait' end as verdict,
      coalesce(o.stands_from, ${now}::timestamptz + ${UNLOOKED}::interval) as until
    from ${due} d
    left join lateral (
      select true as suppressed from suppressions s
      where s.workspace_id = d.workspace_id and s.email = lower(d.recipient)
        and (s.expires_at is null or s.expires_at > ${now}) limit 1
    ) s on true
    left join lateral (
      select true as suppressed from erased_suppressions g
      where g.workspace_id = d.workspace_id and g.address_hmac = coalesce(d.own_hmac, d.address_hmac)
        and (g.expires_at is null or g.expires_at > ${now}) limit 1
    ) g on true
    left join lateral (
      select true as erased from live_erasures e
      where e.workspace_id = d.workspace_id and e.address_hmac = coalesce(d.own_hmac, d.address_hmac)
        and d.id <= e.delivery_id limit 1
    ) e on true
    left join lateral (
      select min(${standsFrom}) as stands_from from opt_outs o
      where d.marketing and o.workspace_id = d.workspace_id and o.address_hmac = d.address_hmac
        and ${isAboutWorkflow(sql`d.workflow_id`)}
    ) o on true
    left join lateral (
      select x.ended_status = 'CANCELLED' as cancelled from executions x
      where d.marketing and x.id = d.execution_id limit 1
    ) x on true
    left join lateral (
      select true as unlooked from emails m
      where d.marketing is null and m.id = d.email_id and m.category = 'marketing' limit 1
    ) u on true`
}
