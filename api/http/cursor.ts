// Cursors: an id or an address where the contract says so, else signed text bound to its list and filter.

import type { WorkspaceId } from '../../rules/ids.ts'
import { type IdKind, isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Secrets } from '../../runtime/secrets.ts'
import { invalidCursor } from './errors.ts'

/** What a sealed cursor is good for; another list, filter or workspace makes another text. */
export interface CursorScope {
  list: string
  workspaceId: WorkspaceId
  /** The path id and the filters, as given. */
  filter?: Record<string, string | null | undefined>
}

const contextOf = (scope: CursorScope) =>
  JSON.stringify([scope.list, scope.workspaceId, Object.entries(scope.filter ?? {})])

/**
 * Sealed cursors: base64url of a MAC and a JSON position.
 * `open` throws ApiError 400 `invalid_cursor` for what is malformed, forged or from another list.
 */
export function createCursors(secrets: Pick<Secrets, 'seal' | 'open'>) {
  return {
    seal(scope: CursorScope, position: unknown): string {
      return secrets.seal('cursor', JSON.stringify(position), contextOf(scope))
    },
    /** The position, or null when no cursor was given. The caller knows its type: it sealed it. */
    open<T>(scope: CursorScope, cursor: string | undefined): T | null {
      if (cursor === undefined) return null
      const text = secrets.open('cursor', cursor, contextOf(scope))
      if (text === null) throw invalidCursor()
      return JSON.parse(text) as T
    },
    /**
     * Cuts a list that was read with one row more than its page into the page and its cursor.
     * @param positionOf where the next page begins: after this row
     */
    page<T>(
      scope: CursorScope,
      found: T[],
      positionOf: (last: T) => unknown,
      size: number = limits.pageSize,
    ): { rows: T[]; cursor: string | null } {
      const { rows, more } = cutPage(found, size)
      const last = rows.at(-1)
      return { rows, cursor: more && last ? this.seal(scope, positionOf(last)) : null }
    },
  }
}

export type Cursors = ReturnType<typeof createCursors>

/** A cursor that is an id: the position itself. */
export function idCursor(kind: IdKind, cursor: string | undefined): string | null {
  if (cursor === undefined) return null
  if (!isId(kind, cursor)) throw invalidCursor()
  return cursor
}

/** Cuts a list that was read with one row too many into its page and whether there is more. */
export function cutPage<T>(rows: T[], size: number): { rows: T[]; more: boolean } {
  return { rows: rows.slice(0, size), more: rows.length > size }
}
