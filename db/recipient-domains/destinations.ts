// Which destination the domains of recipients have, as direct delivery has learned it.

import { sql } from 'kysely'
import { classPlaces } from '../../rules/mail/classes.ts'
import { isProvider } from '../../rules/mail/providers.ts'
import { REMEMBERED_AGAIN_MS } from '../../rules/mail/recipientDomains.ts'
import type { Trx } from '../connect.ts'
import { domainOf, isInLine } from '../deliveries/guards.ts'

/** A domain of recipients with its destination and the shard of that. */
export interface LearnedDomain {
  domain: string
  destination: string
  shard: number
}

/**
 * Stores the destination of a domain, for mail that is accepted from now on, and that the domain exists. What has not
 * changed is written again after a day, so that it is kept while it is used.
 * @returns the destination that it had before; null if it had none
 */
export async function learnDestination(
  trx: Trx,
  { domain, destination, shard }: LearnedDomain,
  now: Date,
): Promise<string | null> {
  const usedBefore = new Date(now.getTime() - REMEMBERED_AGAIN_MS)
  const provider = isProvider(destination) ? destination : null
  const { rows } = await sql<{ destination: string | null }>`
    with before as (select destination from recipient_domains where domain = ${domain}), written as (
    insert into recipient_domains as r (domain, destination, shard, provider, looked_up_at)
    values (${domain}, ${destination}, ${shard}, ${provider}::text, ${now})
    on conflict (domain) do update
    set destination = excluded.destination, shard = excluded.shard, provider = excluded.provider, nx_since = null,
      looked_up_at = excluded.looked_up_at
    where r.destination is distinct from excluded.destination or r.nx_since is not null
      or r.looked_up_at <= ${usedBefore}
    )
    select destination from before
  `.execute(trx)
  return rows[0]?.destination ?? null
}

/** The bounds of one move: how many deliveries move, and how many are read to find them. */
export interface MoveLimits {
  move: number
  /** Of each line of a workspace, the earliest first. */
  perLine: number
  /** Of all lines together. */
  inAll: number
}

/**
 * Moves deliveries that stand in lines of a domain to its destination. A line may be a provider's, with the mail of many
 * domains: of what stands behind others there nothing moves, and it is sent from where it stands. What is due later moves
 * when it is made ready; rows that others have locked move by the next call.
 * All that it reads is in an order that only the index of the lines has, and locked by ids, so that no plan takes another one.
 * @param from the shard and destination under which they stand
 * @returns how many
 */
export async function moveLines(
  trx: Trx,
  from: Omit<LearnedDomain, 'domain'>,
  to: LearnedDomain,
  { move, perLine, inAll }: MoveLimits,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    /* move */ with recursive workspaces as (
      select c.class, ''::text collate "C" as workspace_id
      from unnest(${[...classPlaces]}::smallint[]) as c(class)
      union all
      select w.class, next.workspace_id from workspaces w cross join lateral (
        select d.class, d.workspace_id from deliveries d
        where (d.class, d.workspace_id) > (w.class, w.workspace_id) and ${isInLine}
        order by d.class, d.workspace_id limit 1
      ) next
      where next.class = w.class
    ),
    found as materialized (
      select looked_at.id as found_id from (
        select d.id, d.recipient from workspaces w cross join lateral (
          select * from deliveries
          where (class, workspace_id, shard, destination)
              >= (w.class, w.workspace_id, ${from.shard}::smallint, ${from.destination}::text) and ${isInLine}
          order by class, workspace_id, shard, destination, next_at limit ${perLine}::int
        ) d
        where d.class = w.class and d.workspace_id = w.workspace_id and d.shard = ${from.shard}
          and d.destination = ${from.destination}
        limit ${inAll}::int
      ) looked_at
      where ${domainOf(sql`looked_at.recipient`)} = ${to.domain}
      limit ${move}::int
    ),
    waiting as materialized (
      select id from deliveries
      where id = any(array(select found_id from found)) and ${isInLine}
        and (shard, destination) is not distinct from (${from.shard}::smallint, ${from.destination}::text)
      order by id
      for update skip locked
    ),
    moved as (
      update deliveries d set destination = ${to.destination}, shard = ${to.shard}, ready = false
      where d.id = any(array(select id from waiting))
      returning d.id
    )
    select count(*)::int as count from moved
  `.execute(trx)
  return rows[0]?.count ?? 0
}
