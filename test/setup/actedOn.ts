// The state that operations need of what they act on, which the ones before them have changed.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'

/**
 * Brings what an operation of that name acts on into a state in which it may.
 * @param emailId the one that it acts on; absent: any
 */
export async function makeReady(db: Db, name: string, emailId?: string): Promise<void> {
  if (needsSchedule(name)) return scheduleAgain(db, emailId)
  if (name === 'POST /v1/webhooks/:id/replay') {
    await db.updateTable('jobs').set({ status: 'completed' }).execute()
    return
  }
  const verb = /^POST \/v1\/jobs\/:id\/(\w+)$/.exec(name)?.[1]
  if (verb === undefined) return
  const status = verb === 'resume' ? 'paused' : 'running'
  await db.updateTable('jobs').set({ status }).execute()
}

/** Whether an operation acts on scheduled mail. @param name `POST /v1/emails/:id/cancel` */
const needsSchedule = (name: string): boolean =>
  /^(PATCH \/v1\/emails\/:id|POST \/v1\/emails\/:id\/cancel)$/.test(name)

/** Makes an email, or all of them, wait for a time in a year, as if it had just been scheduled. */
async function scheduleAgain(db: Db, emailId: string | null = null): Promise<void> {
  const which = sql`(${emailId}::text is null or id = ${emailId})`
  await sql`delete from email_events where status = 'bounced' and email_id in (select id from emails where ${which})`.execute(
    db,
  )
  await sql`delete from deliveries where email_id in (select id from emails where ${which})`.execute(
    db,
  )
  await sql`update emails set scheduled_at = now() + interval '1 year' where ${which}`.execute(db)
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, due_at, expires_at,
      created_at, ready, scheduled)
    select id, workspace_id, domain_id, unnest("to"), 0, 'queued', scheduled_at, scheduled_at,
      scheduled_at + interval '1 day', created_at, false, true
    from emails where ${which}`.execute(db)
}
