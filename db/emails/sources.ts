// Reads and writes the source of an email: the whole message of mail that came by SMTP.
import { sql } from 'kysely'
import type { Db, Trx } from '../connect.ts'

/** So much of a source is one row, which is read and written in one turn of the event loop. */
export const SOURCE_SLICE_BYTES = 1024 * 1024

/** Writes the slices after the first, which `insertEmail` writes, each in a round trip of its own. */
export async function insertSourceRest(trx: Trx, emailId: string, source: Buffer): Promise<void> {
  for (let position = 1; position * SOURCE_SLICE_BYTES < source.length; position++) {
    const from = position * SOURCE_SLICE_BYTES
    const content = source.subarray(from, from + SOURCE_SLICE_BYTES)
    await trx.insertInto('email_sources').values({ email_id: emailId, position, content }).execute()
  }
}

/** The whole source of an email, read slice by slice. @throws Error when it has none */
export async function readSource(db: Db, emailId: string): Promise<Buffer> {
  const slices: Buffer[] = []
  for (;;) {
    const slice = await db
      .selectFrom('email_sources')
      .select('content')
      .where('email_id', '=', emailId)
      .where('position', '=', slices.length)
      .executeTakeFirst()
    if (!slice) break
    slices.push(slice.content)
    if (slice.content.length < SOURCE_SLICE_BYTES) break
  }
  if (slices.length === 0) throw new Error('the email has no source')
  return Buffer.concat(slices)
}

/** Expressions over emails `e`: the size of the source, null without one, and the source itself unless it is long. */
export const sourceColumns = sql`
  (select sum(octet_length(content))::float8 from email_sources where email_id = e.id) as source_bytes,
  (select content from email_sources s where s.email_id = e.id and s.position = 0
    and octet_length(s.content) < ${SOURCE_SLICE_BYTES}) as source`
