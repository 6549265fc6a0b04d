// Finds the events that have ended waits of an execution, by an index that has those waits alone: it may have waited very often.
import { type RawBuilder, sql } from 'kysely'

/**
 * A `select` of one row: the event that ended the latest wait at a node, with its `properties`, looked for from the latest segment back.
 * `offset 0` keeps it from a join, for which a plan made while there are few events reads them as a whole.
 */
export const latestReceived = (
  executionId: RawBuilder<unknown>,
  nodeId: RawBuilder<unknown>,
) => sql`
      select d.node_id, a.properties from event_waits d
      cross join lateral (select e.properties from automation_events e
        where e.id = d.consumed_by and e.contact_id = d.contact_id offset 0) a
      where d.execution_id = ${executionId} and d.node_id = ${nodeId} and d.consumed_by is not null
      order by d.segment desc limit 1`

/**
 * The recursive part of a `with` named `received (node_id)`: the nodes whose waits an event has ended, by one look into the index for
 * each; then null.
 */
export const receivedNodes = (executionId: RawBuilder<unknown>) => sql`
      (select w.node_id from event_waits w where w.execution_id = ${executionId} and w.consumed_by is not null
        order by w.node_id limit 1)
      union all
      select (select w.node_id from event_waits w where w.execution_id = ${executionId}
        and w.node_id > received.node_id and w.consumed_by is not null order by w.node_id limit 1)
      from received where received.node_id is not null`

/** JSON: of each node in `received` the properties of its latest event. */
export const receivedEvents = (executionId: RawBuilder<unknown>) => sql`
      coalesce((select jsonb_object_agg(latest.node_id, latest.properties)
        from received cross join lateral (${latestReceived(executionId, sql`received.node_id`)}) latest), '{}')`
