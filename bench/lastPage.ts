// Finds the cursor of a list's last page without reading all pages, by changing the position in a cursor of the
// API.

import type { OpenAPIHono } from '@hono/zod-openapi'
import { type CursorScope, createCursors } from '../api/http/cursor.ts'
import type { ApiEnv } from '../api/http/env.ts'
import type { Secrets } from '../runtime/secrets.ts'
import { seededEmail, seededId, seededTime } from './seedLists.ts'

export interface ListPaths {
  name: string
  /** Path of the first page. */
  first: string
  last: string
}

interface Page {
  count: number
  cursor: string | null
}

/** Cursors that remember the scope and the position that they sealed last. */
export function createSpyCursors(secrets: Secrets) {
  const cursors = createCursors(secrets)
  let sealed: { scope: CursorScope; position: unknown } | undefined
  return {
    cursors: {
      ...cursors,
      seal(scope: CursorScope, position: unknown) {
        sealed = { scope, position }
        return cursors.seal(scope, position)
      },
    },
    take() {
      const taken = sealed
      sealed = undefined
      return taken
    },
    seal: cursors.seal,
  }
}

/**
 * Reads the first page in this process, takes the position of its cursor, and changes it so that one full page is
 * left.
 * @param ascending true if the list begins with its oldest row
 * @throws Error if the result is not a full last page
 */
export async function findLastPage(
  app: OpenAPIHono<ApiEnv>,
  spy: ReturnType<typeof createSpyCursors>,
  token: string,
  list: { name: string; path: string; oldest: number; newest: number; ascending: boolean },
): Promise<ListPaths> {
  const { name, path, oldest, newest, ascending } = list
  const read = async (at: string): Promise<Page> => {
    const response = await app.request(at, { headers: { authorization: `Bearer ${token}` } })
    const text = await response.text()
    if (response.status !== 200)
      throw new Error(`${name}: ${at} answered ${response.status} ${text}`)
    return JSON.parse(text) as Page
  }
  const first = await read(path)
  const sealed = spy.take()
  if (first.cursor === null || first.count === 0) throw new Error(`${name}: one page holds it all`)
  const target = ascending ? newest - first.count : oldest + first.count
  const cursor = sealed
    ? spy.seal(sealed.scope, moved(sealed.position, target))
    : (moved(first.cursor, target) as string)
  const last = `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`
  const page = await read(last)
  spy.take()
  if (page.cursor !== null || page.count !== first.count) {
    throw new Error(`${name}: ${page.count} rows and cursor ${page.cursor} are no full last page`)
  }
  return { name, first: path, last }
}

/** Replaces the row's id, address, time or number in a position by those of another row. */
function moved(position: unknown, target: number): unknown {
  if (typeof position === 'number') return target
  let serial = 0
  const text = JSON.stringify(position)
    .replace(/"([a-z]+)_(0{6}[0-9A-F]{20})"/, (_, prefix: string, hex: string) => {
      serial = Number.parseInt(hex, 16)
      return JSON.stringify(seededId(prefix, target))
    })
    .replace(/contact-\d{9}@example\.test/, seededEmail(target))
  return JSON.parse(text.replace(String(seededTime(serial)), String(seededTime(target))))
}
