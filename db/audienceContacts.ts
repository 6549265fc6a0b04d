// Queries over the contacts of an audience. Writers hold the audience's lock and move its counts.
import { sql, type Transaction } from 'kysely'
import type { Db } from './connect.ts'
import type { Database, Row } from './schema.ts'

export type AudienceContactRow = Row<'audience_contacts'>

/** A page of an audience's contacts after the address `after`, by address. */
export function listAudienceContacts(
  db: Db,
  workspaceId: string,
  audienceId: string,
  page: { after: string | null; limit: number },
): Promise<AudienceContactRow[]> {
  return (
    db
      .selectFrom('audience_contacts')
      .selectAll()
      // The tenant by way of the audience: beside it, a workspace_id would tempt the planner to the wrong index.
      .where('audience_id', '=', (eb) =>
        eb
          .selectFrom('audiences')
          .select('id')
          .where('workspace_id', '=', workspaceId)
          .where('id', '=', audienceId),
      )
      .$if(page.after !== null, (qb) => qb.where('email', '>', page.after as string))
      .orderBy('email')
      .limit(page.limit)
      .execute()
  )
}

/** Those of the addresses (lower case) that a locked audience holds. */
export function lockAudienceContacts(
  trx: Transaction<Database>,
  audienceId: string,
  emails: string[],
): Promise<AudienceContactRow[]> {
  return trx
    .selectFrom('audience_contacts')
    .selectAll()
    .where('audience_id', '=', audienceId)
    .where(sql<boolean>`email = any(${emails}::text[])`)
    .execute()
}

/** jsonb text of many rows: one parameter for any number of them. */
const toRecords = (rows: AudienceContactRow[]) => JSON.stringify(rows)

export async function insertAudienceContacts(
  trx: Transaction<Database>,
  rows: AudienceContactRow[],
): Promise<void> {
  if (rows.length === 0) return
  await sql`
    insert into audience_contacts
    select * from jsonb_populate_recordset(null::audience_contacts, ${toRecords(rows)}::jsonb)
  `.execute(trx)
}

export async function updateAudienceContacts(
  trx: Transaction<Database>,
  rows: AudienceContactRow[],
): Promise<void> {
  if (rows.length === 0) return
  await sql`
    update audience_contacts c
    set first_name = n.first_name, last_name = n.last_name, is_subscribed = n.is_subscribed,
      properties = n.properties, updated_at = n.updated_at
    from jsonb_populate_recordset(null::audience_contacts, ${toRecords(rows)}::jsonb) n
    where c.id = n.id
  `.execute(trx)
}

export async function deleteAudienceContact(trx: Transaction<Database>, id: string): Promise<void> {
  await trx.deleteFrom('audience_contacts').where('id', '=', id).execute()
}
