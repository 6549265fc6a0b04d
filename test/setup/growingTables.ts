// Reads something of plans again and again while tables grow, since plans that are kept may be made at any moment of that.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'

/** Tables grow to so many rows; the last is full. */
const ROWS = [20, 100, 300, 1_000, 20_000]

/**
 * @param fill adds the rows behind `from`, up to `to`
 * @param read is called before the tables were ever analyzed, while they are empty, and after each growth before and after they
 * are analyzed
 * @returns what it gave each time
 */
export async function whileTablesGrow<T>(
  db: Db,
  fill: (from: number, to: number) => Promise<void>,
  read: () => Promise<T>,
): Promise<T[]> {
  const seen = [await read()]
  const analyzed = async () => {
    await sql`analyze`.execute(db)
    seen.push(await read())
  }
  await analyzed()
  for (const [i, rows] of ROWS.entries()) {
    await fill(ROWS[i - 1] ?? 0, rows)
    seen.push(await read())
    await analyzed()
  }
  return seen
}
