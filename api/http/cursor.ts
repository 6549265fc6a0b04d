// Cursors: an id or an address where the contract says so, else signed text bound to its list and filter.

import { normalizeContactEmail } from '../../rules/addresses.ts'
import { type IdKind, isId, type WorkspaceId } from '../../rules/ids.ts'
import type { Secrets } from '../../runtime/secrets.ts'
import { invalidCursor } from './errors.ts'

/** How a list writes its positions as cursors. */
export interface CursorForm<P> {
  /** The position, or null when no cursor was given. @throws ApiError 400 `invalid_cursor` */
  open(cursor: string | undefined): P | null
  seal(position: P): string
}

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

/** Cursors that are ids of a kind: the position itself. */
export const idCursors = (kind: IdKind): CursorForm<string> => ({
  open(cursor) {
    if (cursor === undefined) return null
    if (!isId(kind, cursor)) throw invalidCursor()
    return cursor
  },
  seal: (id) => id,
})

/** Cursors that are addresses of contacts. */
export const addressCursors: CursorForm<string> = {
  open(cursor) {
    if (cursor === undefined) return null
    // No address has a space: it was a plus sign that the client left as it is.
    const email = normalizeContactEmail(cursor.replaceAll(' ', '+'))
    if (email === null) throw invalidCursor()
    return email
  },
  seal: (email) => email,
}
