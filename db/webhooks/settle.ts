// Writes how tries of webhook deliveries have ended, and what that says of their endpoints.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { firstRestMs, restMsMax, restsAfterFailures } from '../../rules/webhooks/outcome.ts'
import type { DeliveryStatus } from '../../rules/webhooks/states.ts'
import type { Trx } from '../connect.ts'

const days = (count: number) => sql`${sql.lit(count)} * interval '1 day'`

/** How one try has ended. */
export interface SettledTry {
  /** A uuid. */
  id: string
  webhook_id: string
  /** In which the worker had the endpoint when it made the request. */
  epoch: number
  /** Of the delivery's tries those that had ended when this one was begun. */
  before: number
  state: DeliveryStatus
  /** Until it is due again, ms; null unless it is pending. */
  after_ms: number | null
  response_status: number | null
  response_ms: number
  is_gone: boolean
}

export interface DisabledWebhook {
  id: string
  workspace_id: WorkspaceId
}

/**
 * Settles tries, in the order in which they have ended. Those of an endpoint that was taken anew meanwhile, by another worker or by the
 * same after a change of its URL, change nothing: they are made again. Nor do those of a delivery that was asked for again meanwhile: it has all
 * its tries before it, and must neither have failed nor wait for hours.
 * @returns the endpoints that were disabled by it: after a 410, or because tries have failed for days, with no long silence
 * between them
 */
export async function settleWebhooks(
  trx: Trx,
  tries: readonly SettledTry[],
): Promise<DisabledWebhook[]> {
  const column = (name: Exclude<keyof SettledTry, 'is_gone'>) => tries.map((one) => one[name])
  const { rows } = await sql<DisabledWebhook>`
    with given as (
      select g.* from unnest(${column('id')}::uuid[], ${column('webhook_id')}::text[], ${column('epoch')}::bigint[],
        ${column('before')}::int[], ${column('state')}::text[], ${column('after_ms')}::float8[], ${column('response_status')}::int[], ${column('response_ms')}::int[])
        as g (id, webhook_id, epoch, before, state, after_ms, response_status, response_ms)
    ), health as (
      select h.* from jsonb_to_recordset(${JSON.stringify(healthOf(tries))}::jsonb) as h (webhook_id text, epoch bigint,
        has_succeeded boolean, failures int, is_gone boolean)
    ), held as (
      select w.id, w.epoch, w.status, w.failures, w.failing_since, h.has_succeeded, h.is_gone,
        case when h.has_succeeded then h.failures else w.failures + h.failures end as failures_now,
        case when h.has_succeeded and h.failures = 0 then null
          when not h.has_succeeded and w.failed_at > statement_timestamp() - ${days(limits.webhookSilentDays)}
            then coalesce(w.failing_since, statement_timestamp())
          else statement_timestamp() end as failing_now,
        h.has_succeeded and h.failures = 0 and w.failures = 0 and w.succeeded_at is not null as is_as_before
      from webhooks w join health h on h.webhook_id = w.id and h.epoch = w.epoch
      order by w.id for no key update of w
    ), due as (
      select d.id, g.state, g.after_ms, g.response_status, g.response_ms
      from given g join held on held.id = g.webhook_id and held.epoch = g.epoch
      join webhook_deliveries d on d.id = g.id
      where d.state = 'pending' and d.attempts = g.before order by d.id for update of d
    ), settled as (
      update webhook_deliveries d set state = g.state, attempts = d.attempts + 1,
        next_at = statement_timestamp() + g.after_ms * interval '1 ms',
        response_status = g.response_status, response_ms = g.response_ms
      from due g where d.id = g.id
    ), judged as (
      select h.*, h.status = 'enabled' and (h.is_gone or coalesce(
        h.failing_now <= statement_timestamp() - ${days(limits.webhookFailingDays)}, false)) as is_over
      from held h where not h.is_as_before
    ), changed as (
      update webhooks w set failures = j.failures_now, failing_since = j.failing_now,
        failed_at = case when j.failures_now > 0 then statement_timestamp() else w.failed_at end,
        succeeded_at = case when j.has_succeeded then statement_timestamp() else w.succeeded_at end,
        rests_until = case when j.failures_now >= ${sql.lit(restsAfterFailures)} then statement_timestamp()
          + least(${sql.lit(restMsMax)}, ${sql.lit(firstRestMs)} * power(2, least(j.failures_now - ${sql.lit(restsAfterFailures)}, 20)))
            * interval '1 ms' end,
        status = case when j.is_over then 'disabled' else w.status end,
        disabled_reason = case when j.is_over and j.is_gone then 'gone' when j.is_over then 'failing'
          else w.disabled_reason end,
        updated_at = case when j.is_over then statement_timestamp() else w.updated_at end
      from judged j where w.id = j.id
      returning w.id, w.workspace_id, j.is_over
    )
    select id, workspace_id from changed where is_over order by id
  `.execute(trx)
  return rows
}

/**
 * Of each endpoint, in each epoch, whether a try has succeeded, and how many have failed after the last that did. What its old URL
 * has answered says nothing of the new one.
 */
function healthOf(tries: readonly SettledTry[]): Health[] {
  const health = new Map<string, Health>()
  for (const one of tries) {
    const key = `${one.webhook_id} ${one.epoch}`
    health.set(key, healthAfter(health.get(key), one))
  }
  return [...health.values()]
}

interface Health {
  webhook_id: string
  epoch: number
  has_succeeded: boolean
  failures: number
  is_gone: boolean
}

function healthAfter(before: Health | undefined, one: SettledTry): Health {
  const { webhook_id, epoch } = one
  const isSuccess = one.state === 'succeeded'
  return {
    webhook_id,
    epoch,
    has_succeeded: isSuccess || (before?.has_succeeded ?? false),
    failures: isSuccess ? 0 : (before?.failures ?? 0) + 1,
    is_gone: one.is_gone || (before?.is_gone ?? false),
  }
}
