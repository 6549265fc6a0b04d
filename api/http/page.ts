// Answers a list with one of its pages: opens the cursor, reads one row more than the page, says where it goes on.

import { limits } from '../../rules/limits.ts'
import type { CursorForm } from './cursor.ts'

interface List<K extends string, P, Row, Item> {
  /** Of the rows in the answer. */
  key: K
  cursors: CursorForm<P>
  /** As the client gave it. */
  cursor: string | undefined
  /** `limits.pageSize` when left out. */
  size?: number
  /** Reads rows after a position, from the beginning for null. */
  find: (page: { after: P | null; limit: number }) => Promise<Row[]>
  /** Where the next page begins: after this row. */
  positionOf: (last: Row) => P
  toItem: (row: Row) => Item
}

type Page<K extends string, Item> = Record<K, Item[]> & { count: number; cursor: string | null }

/**
 * The body of a list's answer: its rows under its key, their count, and the cursor, null on the last page.
 * @throws ApiError 400 `invalid_cursor`, before anything is read
 */
export async function readPage<K extends string, P, Row, Item>(
  list: List<K, P, Row, Item>,
): Promise<Page<K, Item>> {
  const { key, cursors, size = limits.pageSize } = list
  const after = cursors.open(list.cursor)
  const found = await list.find({ after, limit: size + 1 })
  const rows = found.slice(0, size)
  const last = rows.at(-1)
  const cursor = found.length > size && last ? cursors.seal(list.positionOf(last)) : null
  return { [key]: rows.map(list.toItem), count: rows.length, cursor } as Page<K, Item>
}
