// Finds the automation contacts behind deliveries: those who are to hear what became of their mail.
import { sql } from 'kysely'
import type { MailOfContact } from '../../commands/events/recordMail.ts'
import type { Db } from '../connect.ts'

export interface MailContact extends MailOfContact {
  delivery_id: number
}

/** The deliveries whose recipient is an automation contact, in the order of the contacts' ids. */
export async function listMailContacts(db: Db, deliveryIds: number[]): Promise<MailContact[]> {
  if (deliveryIds.length === 0) return []
  const { rows } = await sql<MailContact>`
    select d.id as delivery_id, d.workspace_id, c.email, d.email_id, m.subject,
      m.workflow_id, m.execution_id, m.node_id, coalesce(x.chain_depth, 0) as chain_depth
    from deliveries d
    join contacts c on c.workspace_id = d.workspace_id and c.email = lower(d.recipient)
    join emails m on m.id = d.email_id
    left join executions x on x.id = m.execution_id
    where d.id = any(${deliveryIds}::bigint[])
    order by c.id, d.id
  `.execute(db)
  return rows
}
