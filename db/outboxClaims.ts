// Claims and settles rows of the outbox that are for Temporal.

import { sql } from 'kysely'
import type { Trx } from './connect.ts'
import { type OutboxLine, ofLines, startsOf, type TemporalRow } from './outbox.ts'

/** Of rows `earlier`, which stand before `l` because they are of the same execution. */
const isEarlier = sql`earlier.execution_id = l.execution_id and earlier.id < l.id and earlier.kind <> 'mail_event'`

/** How a worker claims rows: until then nobody else takes them, unless it has settled them. */
export interface OutboxClaim {
  now: Date
  until: Date
  /** As in `listOutboxLines`. */
  refused: boolean
}

/** A claim looks at so many due rows of a line for each that it may take, since some stand behind rows of their executions. */
const LOOKS = 4
/** The longest pause of a row that stands behind another one. It ends as soon as that one is done. */
const BEHIND_S_MAX = 600

export interface ClaimedOutbox {
  /** Oldest first. */
  rows: TemporalRow[]
  /** How many due rows were put off because they stand behind others: while there are such, more may be due behind them. */
  putOff: number
}

/**
 * Claims due rows for Temporal, of each line as many as `most` says. Of each execution it takes only the oldest row, so
 * that a start comes before its signals and its cancellation. A row that stands behind another one is put off by as long as
 * it has been waiting, or until that one is done (`settleOutbox`): so what stands behind refused or held back starts is
 * read by few claims, however much it is. That one is locked meanwhile, so that it is not done without freeing the row; where
 * somebody else has locked it the row stays as it is. No lock outlives the statement: whoever dies or freezes with rows keeps them
 * until the claim ends.
 */
export async function claimOutbox(
  trx: Trx,
  lines: readonly (OutboxLine & { most: number })[],
  { now, until, refused }: OutboxClaim,
): Promise<ClaimedOutbox> {
  /** The due rows of a line that a claim looks at. */
  const looked = sql`select id, execution_id, next_at, created_at from outbox as due
            where ${ofLines(refused)} and due.workspace_id = line.workspace_id
              and ${startsOf} = line.starts_of and due.next_at <= ${now}
            order by due.next_at, due.id limit line.most * ${LOOKS}::int`
  const { rows } = await sql<TemporalRow & { put_off: number }>`
    with line as (
      select * from unnest(${lines.map((line) => line.workspace_id)}::text[],
        ${lines.map((line) => line.starts_of)}::text[], ${lines.map((line) => line.most)}::int[])
        with ordinality as line (workspace_id, starts_of, most, n)
    ),
    claimed as materialized (
      select o.id, line.n from line cross join lateral (
        select free.id from (${looked}) l cross join lateral (
          select id from outbox as o
          where o.id = l.id and o.next_at <= ${now} and not exists (select from outbox as earlier where ${isEarlier})
          for update of o skip locked
        ) free
        order by l.next_at, l.id limit line.most
      ) o
    ),
    behind as materialized (
      select b.id, l.created_at from line cross join lateral (${looked}) l
        cross join lateral (
          select from outbox as earlier where ${isEarlier} order by earlier.id limit 1 for share of earlier skip locked
        ) held
        cross join lateral (
          select id from outbox as o where o.id = l.id and o.next_at <= ${now} for update of o skip locked
        ) b
      where (select count(*) from claimed where claimed.n = line.n) < line.most
    ),
    put_off as (
      update outbox o
      set next_at = ${now}::timestamptz
        + least(${BEHIND_S_MAX}, greatest(0.1, extract(epoch from ${now}::timestamptz - b.created_at))) * interval '1 second'
      from behind b where o.id = b.id
      returning o.id
    ),
    taken as (
      update outbox set next_at = ${until} from claimed where outbox.id = claimed.id
      returning outbox.*
    )
    select taken.*, (select count(*)::int from put_off) as put_off from (select) as one left join taken on true
  `.execute(trx)
  const taken = rows.filter(({ id }) => id !== null).map(({ put_off: _, ...row }) => row)
  return {
    rows: (taken as TemporalRow[]).sort((a, b) => a.id - b.id),
    putOff: rows[0]?.put_off ?? 0,
  }
}

/** The longest pause after a refusal. The first is of two seconds, and each further one twice as long. */
const REFUSED_S_MAX = 600

/** What became of claimed rows. */
export interface OutboxSettlement {
  /** Ids of rows that Temporal has taken, or that nobody needs any more. */
  done: number[]
  /** Ids of rows that Temporal could not be asked about, and when they are due again. */
  putOff: { ids: number[]; until: Date }
  /** Rows that Temporal refused, with the name of its answer. */
  refused: { id: number; refusal: string }[]
}

/**
 * Settles rows of a claim in one statement. What stands next behind a row that is done is due at once. Rows that another worker has
 * claimed meanwhile are only removed.
 */
export async function settleOutbox(
  trx: Trx,
  claim: Pick<OutboxClaim, 'now' | 'until'>,
  { done, putOff, refused }: OutboxSettlement,
): Promise<void> {
  await sql`
    with gone as (
      delete from outbox where id = any(${done}::bigint[]) returning id, execution_id
    ), next as materialized (
      select n.id from gone cross join lateral (
        select id, next_at, attempts from outbox
        where execution_id = gone.execution_id and id > gone.id and kind <> 'mail_event' and kind <> 'leave'
        order by id limit 1
      ) n where n.attempts = 0 and n.next_at > ${claim.now}
    ), freed as (
      update outbox set next_at = ${claim.now} from next where outbox.id = next.id and outbox.attempts = 0
    ), later as (
      update outbox set next_at = ${putOff.until}
      where id = any(${putOff.ids}::bigint[]) and next_at = ${claim.until}
    )
    update outbox set attempts = outbox.attempts + 1, refusal = r.refusal,
      next_at = ${claim.now}::timestamptz
        + least(${REFUSED_S_MAX}, 2 * 2 ^ least(outbox.attempts, 20)) * interval '1 second'
    from unnest(${refused.map((row) => row.id)}::bigint[],
      ${refused.map((row) => row.refusal)}::text[]) as r (id, refusal)
    where outbox.id = r.id and outbox.next_at = ${claim.until}
  `.execute(trx)
}
