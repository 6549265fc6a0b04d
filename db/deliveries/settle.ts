// Settles attempts in one statement: deliveries, attempts, email events, mail events, soft bounces, suppressions.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { type AttemptEnd, type UnderWayState, waitingStates } from '../../rules/states.ts'
import type { Trx } from '../connect.ts'
import { type Param, prepare, type Slots } from '../prepared.ts'
import type { JsonObject, Row } from '../schema.ts'
import { insertSuppressions, softBounceSteps } from '../suppressions/softBounces.ts'
import { attemptMoves, isLeaseOver, states } from './guards.ts'
import { mailEventRows } from './mailEvents.ts'

const MONTH = `${limits.missingDomainSuppressedDays} days`

/** One attempt as it is stored: its times, the mail server, and how it ended. */
export type AttemptRow = Omit<Row<'delivery_attempts'>, 'delivery_id'>

/** The result of one claimed delivery. */
export interface Settlement {
  id: number
  /** The state that it must have; absent: any state under way from which the table allows the move. */
  leaves?: UnderWayState
  state: AttemptEnd
  /** When it is due again; null keeps the stored time. */
  nextAt: Date | null
  /** When it expires now; absent keeps the stored time. */
  expiresAt?: Date
  /** Where it stands in line from now on; absent: where it did. */
  moveTo?: { destination: string; shard: number }
  response: string | null
  resent: number
  /** False: nothing was tried, so the attempt does not count. */
  counted: boolean
  /** The recipient's email event; null if there is none (a deferral). Of what is `suppressed` contacts are not told. */
  event: { status: 'delivered' | 'bounced'; at: Date; data: JsonObject } | null
  /** `for_good` and `for_a_month` put the recipient on the suppression list; `soft` counts towards it. */
  suppress: 'no' | 'soft' | 'for_a_month' | 'for_good'
  /** The attempt; null if nothing was tried. */
  attempt: AttemptRow | null
}

export interface SettledDelivery {
  id: number
  email_id: string
  workspace_id: WorkspaceId
  recipient: string
  /** Whether this settlement put the recipient on the suppression list. */
  suppressed: boolean
}

export interface SettledGroup {
  deliveries: SettledDelivery[]
  /** True if mail events were written: the caller wakes `dripline_mail_events`. */
  hasMailEvents: boolean
  /** The ids of those that were passed over, since somebody held them. */
  held: number[]
}

/**
 * Settles deliveries under way that have this lease (or, without a token, whose lease has expired), and writes
 * their attempts, events, mail events and suppressions: one statement and one commit for the group. It locks no
 * contact, and deliveries in the order of their ids (commands/transact.ts). It passes over those that somebody holds.
 *
 * A group that suppresses nobody, as nearly all do, leaves out the parts that would: to begin them costs as much as to settle some ten mails.
 * @returns the deliveries that were settled now, whether mail events were written, and what is left to be settled
 */
export async function settleDeliveries(
  trx: Trx,
  settlements: Settlement[],
  leaseToken: string | null,
  now: Date,
): Promise<SettledGroup> {
  const suppresses = settlements.some(({ suppress }) => suppress !== 'no')
  const { ofLease, ofExpired } = suppresses ? suppressing : plainly
  const input = JSON.stringify(settlements.map(toInput))
  const { rows } = await (leaseToken === null
    ? ofExpired(trx, { input, now })
    : ofLease(trx, { input, now, leaseToken }))
  const held = rows.length < settlements.length ? await listHeld(trx, settlements, leaseToken) : []
  return { deliveries: rows, hasMailEvents: rows[0]?.has_mail_events ?? false, held }
}

/** Of settlements that were to be written just now those that can be still, so somebody held their deliveries. @returns their ids */
async function listHeld(
  trx: Trx,
  settlements: Settlement[],
  leaseToken: string | null,
): Promise<number[]> {
  const ids = settlements.map(({ id }) => id)
  const to = settlements.map(({ state }) => state)
  const leaves = settlements.map(({ leaves }) => leaves ?? null)
  const { rows } = await sql<{ id: number }>`
    select d.id from unnest(${ids}::bigint[], ${to}::text[], ${leaves}::text[]) as g (id, state, leaves)
    join deliveries d on d.id = g.id
    where ${leaseToken === null ? isLeaseOver : isHeldBy(leaseToken)} and ${mayMove}
  `.execute(trx)
  return rows.map(({ id }) => id)
}

const isHeldBy = (leaseToken: Param<string>) => sql`d.lease_token = ${leaseToken}::uuid`

/** Whether a delivery `d` may go where the settlement `g` moves it. */
const mayMove = sql`(d.state, g.state) in (${attemptMoves}) and d.state = coalesce(g.leaves, d.state)`

/**
 * Undefined and not null: it is left out of the JSON, and Postgres reads a name that is missing as null. To write and read them took longer. An
 * attempt keeps its nulls.
 */
const toInput = (s: Settlement) => ({
  id: s.id,
  leaves: s.leaves,
  state: s.state,
  next_at: s.nextAt ?? undefined,
  expires_at: s.expiresAt,
  to_destination: s.moveTo?.destination,
  to_shard: s.moveTo?.shard,
  response: s.response ?? undefined,
  resent: s.resent,
  uncounted: s.counted ? 0 : 1,
  status: s.event?.status,
  at: s.event?.at,
  data: s.event?.data,
  suppress: s.suppress,
  ...(s.attempt ? tried(s.attempt) : undefined),
})

interface Asked {
  /** The settlements, as JSON. */
  input: string
  now: Date
}
type AskedOfLease = Asked & { leaseToken: string }
type Slot = Slots<Asked>
type SettledRow = SettledDelivery & { has_mail_events: boolean }

/** The two statements with this end: for those that have a lease, and for those whose lease has expired. */
function prepareBoth(end: (slot: Slot) => RawBuilder<unknown>) {
  const statement = (slot: Slot, held: RawBuilder<unknown>) =>
    sql<SettledRow>`with ${settleSteps(slot, held)}, ${end(slot)}`
  return {
    ofLease: prepare<AskedOfLease, SettledRow>((slot) =>
      statement(slot as Slot, isHeldBy(slot((asked) => asked.leaseToken))),
    ),
    ofExpired: prepare<Asked, SettledRow>((slot) => statement(slot, isLeaseOver)),
  }
}

const plainly = prepareBoth(() => lastSteps(sql`false`))
const suppressing = prepareBoth(
  (slot) =>
    sql`${suppressSteps(slot)}, ${lastSteps(sql`suppress in ('for_good', 'for_a_month') or (suppress = 'soft' and
      exists (select from soft_last l
        where l.workspace_id = settled.workspace_id and l.email = lower(recipient)))`)}`,
)

/** `given`, which locks what it settles, `settled` and what is written of it. */
function settleSteps(slot: Slot, held: RawBuilder<unknown>): RawBuilder<unknown> {
  const now = slot((asked) => asked.now)
  return sql`given as (
      select g.* from json_to_recordset(${slot((asked) => asked.input)}::json) as g(
        id bigint, leaves text, state text, next_at timestamptz, expires_at timestamptz, response text, resent smallint, uncounted integer,
        to_destination text, to_shard smallint,
        status text, at timestamptz, data jsonb, suppress text, attempt integer, started_at timestamptz,
        ended_at timestamptz, outcome text, phase text, code smallint, said text, host text, address text,
        tls text, conversation text)
      join deliveries d on d.id = g.id
      where ${held} order by d.id for update of d skip locked
    ),
    settled as (
      update deliveries d
      set state = g.state, attempt = d.attempt - g.uncounted,
          next_at = coalesce(g.next_at, d.next_at), ready = false,
          expires_at = coalesce(g.expires_at, d.expires_at), last_response = g.response,
          resent = g.resent, lease_token = null, lease_until = null,
          destination = coalesce(g.to_destination, d.destination), shard = coalesce(g.to_shard, d.shard),
          settled_at = case when g.state in (${states(waitingStates)}) then null
            else ${now}::timestamptz end
      from given g
      where d.id = g.id and ${mayMove}
      returning d.email_id, d.workspace_id, d.recipient, d.to_team, g.*
    ),
    attempts as (
      insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome, phase, code,
        response, host, address, tls, conversation)
      select id, attempt, started_at, ended_at, outcome, phase, code, said, host, address, tls, conversation
      from settled where outcome is not null
      on conflict do nothing
    ),
    events as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select email_id, workspace_id, recipient, status, at, data
      from settled where status is not null
      on conflict do nothing
    ),
    told as (
      ${mailEventRows(
        sql`select id as delivery_id, workspace_id, recipient, status as name, at,
          case when status = 'bounced' then data else '{}' end as data
        from settled where status is not null and state <> 'suppressed' and not to_team`,
        now,
      )}
      returning id
    )`
}

/** What puts recipients on the suppression list, or counts towards it. */
function suppressSteps(slot: Slot): RawBuilder<unknown> {
  const now = slot((asked) => asked.now)
  return sql`soft as (
      select workspace_id, lower(recipient) as email, email_id, at
      from settled where suppress = 'soft'
    ), ${softBounceSteps},
    to_suppress as (
      select workspace_id, email, email_id, until from soft_last
      union all
      select workspace_id, lower(recipient), email_id,
        case when suppress = 'for_a_month' then ${now}::timestamptz + ${MONTH}::interval end
      from settled where suppress in ('for_good', 'for_a_month')
    ),
    suppressed as (${insertSuppressions(now)})`
}

/**
 * The last step, and the rows of the answer. A delivery forgives behind what counts, which may be of the same address.
 * @param suppressed whether the settlement of a row of `settled` has put its recipient on the suppression list
 */
const lastSteps = (suppressed: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`forgiven as (
      update soft_bounces b set cleared_by = s.email_id from settled s
      where s.state = 'delivered' and b.cleared_by is null and b.workspace_id = s.workspace_id
        and b.email = lower(s.recipient)
    )
    select id, email_id, workspace_id, recipient, ${suppressed} as suppressed,
      exists (select from told) as has_mail_events
    from settled`

/** The columns of an attempt, with `response` as `said`, because the settlement has a `response` too. */
function tried({ response, ...attempt }: AttemptRow) {
  return { ...attempt, said: response }
}
