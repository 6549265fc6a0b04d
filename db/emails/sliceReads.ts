// Reads the html or the text of an email in slices: a row of 40 MB would keep the process that reads it from everything else.
import { StringDecoder } from 'node:string_decoder'
import { type RawBuilder, sql } from 'kysely'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'

/**
 * Postgres unpacks a text from its beginning for every slice of it: 40 MB cost a second in slices of this size, some 0.1 s
 * each. Counted in characters (`substr`) they cost five times that.
 */
export const SLICE_BYTES = 4 * 1024 * 1024
/** For who needs all of it: larger, since each slice unpacks what is before it again. */
const WHOLE_SLICE_BYTES = 2 * SLICE_BYTES
/**
 * Rows are small, because each is parsed in one turn of the event loop, and not so small that glibc's malloc would keep their memory once they
 * are free, where that is used.
 */
const ROW_BYTES = 128 * 1024

export type LongColumn = 'html' | 'text'

interface PieceRow {
  start: number
  piece: Buffer
}

/**
 * Reads one slice as UTF-8, which may begin and end within a character.
 * @param from the first byte, counted from 1
 * @param email the condition by which the email is found
 * @returns the slice in pieces; none behind the end, or when there is no such email
 */
async function readSlice(
  db: Db,
  { column, from, bytes }: { column: LongColumn; from: number; bytes: number },
  email: RawBuilder<unknown>,
): Promise<Buffer[]> {
  // `offset 0` keeps the text from being unpacked once for each row.
  const { rows } = await sql<PieceRow>`
    select start, substring(whole.bytes from start for ${ROW_BYTES}) as piece
    from (select convert_to(${sql.ref(column)}, 'UTF8') as bytes from emails where ${email} offset 0) whole
    cross join lateral generate_series(
      ${from}::int, least(${from + bytes - 1}, octet_length(whole.bytes)), ${ROW_BYTES}) start
  `.execute(db)
  return rows.sort((a, b) => a.start - b.start).map(({ piece }) => piece)
}

/** One slice of the content of an email that the caller reaches, as `readSlice` gives it. */
export function findEmailSlice(
  db: Db,
  { workspaceId, domainId }: Reach,
  id: string,
  at: { column: LongColumn; from: number },
): Promise<Buffer[]> {
  const ofDomain = domainId === null ? sql`` : sql`and domain_id = ${domainId}`
  return readSlice(
    db,
    { ...at, bytes: SLICE_BYTES },
    sql`workspace_id = ${workspaceId} ${ofDomain} and id = ${id}`,
  )
}

/** The whole html or text of an email; '' when there is no such email, or it has none. */
export async function readLongBody(db: Db, id: string, column: LongColumn): Promise<string> {
  const decoder = new StringDecoder('utf8')
  const texts: string[] = []
  const sliceBytes = WHOLE_SLICE_BYTES
  for (let from = 1; ; from += sliceBytes) {
    const pieces = await readSlice(db, { column, from, bytes: sliceBytes }, sql`id = ${id}`)
    let bytes = 0
    for (const piece of pieces) {
      bytes += piece.length
      texts.push(decoder.write(piece))
    }
    if (bytes < sliceBytes) return texts.join('')
  }
}
