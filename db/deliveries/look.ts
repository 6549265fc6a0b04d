// The last look before an attempt, and before its final dot: whether the recipient has left or is suppressed meanwhile.

import { type RawBuilder, sql } from 'kysely'
import { isAboutWorkflow, standsFrom } from '../opt-outs/reads.ts'
import type { Param } from '../prepared.ts'

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
 * `verdict` (null: nothing stops it) and `until` (of `wait`). Each part is one step down an index for each row that it may be
 * about, whatever the tables hold: a `select` of one value is asked for each row, while the planner may read a whole table for
 * a join or an `exists`. An execution is found by its id alone, so that no other index can look better.
 *
 * `offset 0` keeps each value apart, so that it is made once for each row and not wherever it is used.
 *
 * Opt-outs stop marketing mail alone, of what they are about. Mail of an audience or a broadcast does not exist yet.
 */
export function look(due: RawBuilder<unknown>, now: Param<Date>): RawBuilder<unknown> {
  return sql`
    select l.id, l.place, l.was,
      case when l.suppressed then 'suppressed'
        when l.stands_from <= ${now} then 'left'
        when l.cancelled then 'cancelled'
        when l.stands_from is not null or l.unlooked then 'wait' end as verdict,
      coalesce(l.stands_from, ${now}::timestamptz + ${UNLOOKED}::interval) as until
    from (
      select d.id, d.place, d.state as was, ${isSuppressed(now)} as suppressed, ${leftFrom} as stands_from,
        ${isCancelled} as cancelled, ${isUnlooked} as unlooked
      from ${due} d offset 0
    ) l offset 0`
}

/** Whether the address is suppressed, also if the contact was erased since. */
const isSuppressed = (now: Param<Date>) => sql`coalesce(
          (select true from suppressions s
          where s.workspace_id = d.workspace_id and s.email = lower(d.recipient)
            and (s.expires_at is null or s.expires_at > ${now}) limit 1),
          (select true from erased_suppressions g
          where g.workspace_id = d.workspace_id and g.address_hmac = coalesce(d.own_hmac, d.address_hmac)
            and (g.expires_at is null or g.expires_at > ${now}) limit 1))`

/** From when on an opt-out from what sent it stands; null: there is none. */
const leftFrom = sql`case when d.marketing then
          (select min(${standsFrom}) from opt_outs o
          where o.workspace_id = d.workspace_id and o.address_hmac = d.address_hmac
            and ${isAboutWorkflow(sql`d.workflow_id`)}) end`

/** Whether the recipient is being erased, or the execution that sent it was cancelled. */
const isCancelled = sql`coalesce(
          (select true from live_erasures e
          where e.workspace_id = d.workspace_id and e.address_hmac = coalesce(d.own_hmac, d.address_hmac)
            and d.id <= e.delivery_id limit 1),
          case when d.marketing then
            (select x.ended_status = 'CANCELLED' from executions x where x.id = d.execution_id limit 1) end)`

/** Whether it is marketing mail, and a worker that does not know so has not said of what. */
const isUnlooked = sql`case when d.marketing is null then
          (select true from emails m where m.id = d.email_id and m.category = 'marketing' limit 1) end`
