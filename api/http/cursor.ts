// Cursors of lists: an id or an address if the contract says so, otherwise a signed text that is valid only for
// its list and filter.

import { normalizeContactEmail } from '../../rules/addresses.ts'
import { type IdKind, isId, type WorkspaceId } from '../../rules/ids.ts'
import type { Secrets } from '../../runtime/secrets.ts'
import { invalidCursor } from './errors.ts'

/** How the positions of a list become cursors. */
export interface CursorForm<P> {
  /** The position; null without a cursor. @throws ApiError 400 `invalid_cursor` */
  open(cursor: string | undefined): P | null
  seal(position: P): string
}

/** What a sealed cursor is valid for: one list, filter and workspace. */
export interface CursorScope {
  list: string
  workspaceId: WorkspaceId
  /** The path id and the filters, as given. */
  filter?: Record<string, string | null | undefined>
}

const contextOf = (scope: CursorScope) =>
  JSON.stringify([scope.list, scope.workspaceId, Object.entries(scope.filter ?? {})])

/**
 * Makes sealed cursors: base64url of a MAC and a JSON position. `open` throws ApiError 400 `invalid_cursor` if a
 * cursor is malformed, forged or of another list.
 */
export function createCursors(secrets: Pick<Secrets, 'seal' | 'open'>) {
  return {
    seal(scope: CursorScope, position: unknown): string {
      return secrets.seal('cursor', JSON.stringify(position), contextOf(scope))
    },
    /** The position; null without a cursor. The caller sealed it and knows its type. */
    open<T>(scope: CursorScope, cursor: string | undefined): T | null {
      if (cursor === undefined) return null
      const text = secrets.open('cursor', cursor, contextOf(scope))
      if (text === null) throw invalidCursor(cursor)
      return JSON.parse(text) as T
    },
    /** The form of the cursors of one list. */
    of<P>(scope: CursorScope): CursorForm<P> {
      return {
        open: (cursor) => this.open<P>(scope, cursor),
        seal: (position) => this.seal(scope, position),
      }
    },
  }
}

export type Cursors = ReturnType<typeof createCursors>

/** Cursors that are ids of a kind. */
export const idCursors = (kind: IdKind): CursorForm<string> => ({
  open(cursor) {
    if (cursor === undefined) return null
    if (!isId(kind, cursor)) throw invalidCursor(cursor)
    return cursor
  },
  seal: (id) => id,
})

/** Cursors that are addresses of contacts. */
export const addressCursors: CursorForm<string> = {
  open(cursor) {
    if (cursor === undefined) return null
    // An address has no space: it was a plus sign that the client did not encode.
    const email = normalizeContactEmail(cursor.replaceAll(' ', '+'))
    if (email === null) throw invalidCursor(cursor)
    return email
  },
  seal: (email) => email,
}
