// Reads emails whole for the lane that sends them.
import type { Db } from './connect.ts'

/** The emails of those ids with their attachments. */
export async function listEmailContents(db: Db, ids: string[]) {
  const [emails, attachments] = await Promise.all([
    db.selectFrom('emails').selectAll().where('id', 'in', ids).execute(),
    db
      .selectFrom('email_attachments')
      .selectAll()
      .where('email_id', 'in', ids)
      .orderBy('email_id')
      .orderBy('position')
      .execute(),
  ])
  return emails.map((email) => ({
    ...email,
    attachments: attachments.filter((part) => part.email_id === email.id),
  }))
}

export type EmailContent = Awaited<ReturnType<typeof listEmailContents>>[number]

/** When each email was accepted and whether it is transactional: what an unknown outcome is judged by. */
export async function listEmailCategories(db: Db, ids: string[]) {
  const rows = await db
    .selectFrom('emails')
    .select(['id', 'type', 'category', 'created_at'])
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.map((row) => [
      row.id,
      { acceptedAt: row.created_at.getTime(), transactional: isTransactional(row) },
    ]),
  )
}

/** Mail that is sent once more when nobody knows whether it arrived. */
export function isTransactional(email: Pick<EmailContent, 'type' | 'category'>): boolean {
  return email.type === 'transactional' && email.category === 'transactional'
}
