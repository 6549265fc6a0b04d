// The last look before an attempt, and before its final dot: whether the recipient has left or is suppressed meanwhile, or somebody is
// erased to whom or about whom it is.

import { type RawBuilder, sql } from 'kysely'
import { isAboutWorkflow, standsFrom } from '../opt-outs/reads.ts'
import type { Param } from '../prepared.ts'

/**
 * What the look finds. `suppressed`: the address is on the suppression list. `left`: they left what sent it.
 * `erased`: the recipient is being erased, or the contact of the execution that sent it to the team. `cancelled`: the execution that
 * sent it was cancelled. `wait`: it is known later whether they left.
 */
export type Verdict = 'suppressed' | 'left' | 'erased' | 'cancelled' | 'wait'

/** A claim that cannot look at a mail yet, since a worker has not filled it in, comes back to it after this time. */
const UNLOOKED = '5 seconds'

/** What `look` needs of a delivery. */
export const lookedAt = sql`ctid as place, id, state, workspace_id, email_id, recipient, marketing, address_hmac,
  own_hmac, workflow_id, execution_id, to_team`

/**
 * The look at the relation `due`, which has the columns `lookedAt`, as a `select` of its id, its `state` as `was`,
 * `verdict` (null: nothing stops it) and `until` (of `wait`). Each part is one step down an index for each row that it may be
 * about, whatever the tables hold: a `select` of one value is asked for each row, while the planner may read a whole table for
 * a join or an `exists`. An execution is found by its id alone, so that no other index can look better.
 *
 * What is erased comes first, since nobody is told of such mail before it is blanked.
 *
 * `offset 0` keeps each value apart, so that it is made once for each row and not wherever it is used.
 *
 * Opt-outs stop marketing mail alone, of what they are about. Mail of an audience or a broadcast does not exist yet.
 */
export function look(due: RawBuilder<unknown>, now: Param<Date>): RawBuilder<unknown> {
  return sql`
    select l.id, l.place, l.was,
      case when l.erased then 'erased'
        when l.suppressed then 'suppressed'
        when l.stands_from <= ${now} then 'left'
        when l.cancelled then 'cancelled'
        when l.stands_from is not null or l.unlooked then 'wait' end as verdict,
      coalesce(l.stands_from, ${now}::timestamptz + ${UNLOOKED}::interval) as until
    from (
      select d.id, d.place, d.state as was, ${isSuppressed(now)} as suppressed, ${leftFrom} as stands_from,
        ${isErased} as erased, ${isCancelled} as cancelled, ${isUnlooked} as unlooked
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

/**
 * Whether the recipient is being erased; or whether it goes to the team about a contact who is gone, since contacts go by being erased alone.
 * Only mail to the team is asked for its execution: other mail is about its recipients.
 */
const isErased = sql`coalesce(
          (select true from live_erasures e
          where e.workspace_id = d.workspace_id and e.address_hmac = coalesce(d.own_hmac, d.address_hmac)
            and d.id <= e.delivery_id limit 1),
          case when d.to_team then
            (select (select true from contacts c where c.id = x.contact_id limit 1) is null from executions x
            where x.id = (select m.execution_id from emails m where m.id = d.email_id limit 1) limit 1) end)`

/** Whether the execution that sent it was cancelled. */
const isCancelled = sql`case when d.marketing then
            (select x.ended_status = 'CANCELLED' from executions x where x.id = d.execution_id limit 1) end`

/** Whether it is marketing mail, and a worker that does not know so has not said of what. */
const isUnlooked = sql`case when d.marketing is null then
          (select true from emails m where m.id = d.email_id and m.category = 'marketing' limit 1) end`
