// Writes what direct delivery has learned about the domains of recipients: whether the DNS knows them.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'

/** Notes that the DNS says that these domains do not exist. An earlier time stays. */
export async function insertUnknownDomains(
  trx: Trx,
  domains: readonly string[],
  now: Date,
): Promise<void> {
  await sql`
    insert into recipient_domains as r (domain, nx_since, looked_up_at)
    select domain, ${now}, ${now} from unnest(${[...domains]}::text[]) as given (domain) order by domain
    on conflict (domain) do update
    set nx_since = excluded.nx_since, looked_up_at = excluded.looked_up_at where r.nx_since is null
  `.execute(trx)
}

/** Notes that the DNS knows these domains. Nothing is written of those of which nothing else was noted. */
export async function updateFoundDomains(
  trx: Trx,
  domains: readonly string[],
  now: Date,
): Promise<void> {
  await sql`
    with back as (
      select domain from recipient_domains
      where domain = any(${[...domains]}::text[]) and nx_since is not null
      order by domain for update
    )
    update recipient_domains r set nx_since = null, looked_up_at = ${now}
    from back where r.domain = back.domain
  `.execute(trx)
}
