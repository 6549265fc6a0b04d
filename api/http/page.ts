// Answers a list with one page: opens the cursor, reads one row more than the page, and makes the next cursor.

import { limits } from '../../rules/limits.ts'
import type { CursorForm } from './cursor.ts'

interface List<K extends string, P, Row, Item> {
  /** The key of the rows in the answer. */
  key: K
  cursors: CursorForm<P>
  /** The cursor of the request. */
  cursor: string | undefined
  /** `limits.pageSize` if absent. */
  size?: number
  /** Reads rows after a position; null: from the beginning. */
  find: (page: { after: P | null; limit: number }) => Promise<Row[]>
  /** The position of a row, after which the next page begins. */
  positionOf: (last: Row) => P
  toItem: (row: Row) => Item
}

type Page<K extends string, Item> = Record<K, Item[]> & { count: number; cursor: string | null }

/**
 * The body of a list's answer: the rows under `key`, their count, and the cursor, which is null on the last page.
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
