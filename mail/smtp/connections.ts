// The open connections of one pool, each with its place: which are unused, and how they end.
import type { PlaceHolder, Places } from './places.ts'
import type { Session } from './session.ts'

export interface Connections {
  /** Where they have their places. */
  readonly holder: PlaceHolder
  /** Takes the unused connection that was used last, of those that fit; null: there is none that can be used. */
  unused(fits: (session: Session) => boolean): Session | null
  /** Whether an unused one fits. */
  hasUnused(fits: (session: Session) => boolean): boolean
  idle(): number
  /** A connection was opened in a place that was taken. */
  opened(session: Session): void
  /** Keeps a connection until it is used, or for its time. */
  keep(session: Session): void
  /** Closes a connection at once. */
  drop(session: Session): void
  /** Closes a connection with QUIT. */
  leave(session: Session): Promise<void>
  /** Closes the connection that was unused longest; null: there is none. */
  closeOldest(): Promise<void> | null
  /** Closes all unused ones. */
  close(): Promise<unknown>
}

/**
 * @param idleMs an unused connection is closed after this time
 * @param wake called when a place may be free
 */
export function createConnections(places: Places, idleMs: number, wake: () => void): Connections {
  /** The one that was used last is the last one. */
  const idle: { session: Session; timer: NodeJS.Timeout }[] = []
  const sessions = new Set<Session>()
  const holder: PlaceHolder = { wake, closeIdle: closeOldest }

  function drop(session: Session): void {
    session.close()
    ended(session)
  }

  /** Gives the place back. */
  function ended(session: Session): void {
    if (sessions.delete(session)) places.release(holder)
  }

  async function leave(session: Session): Promise<void> {
    await session.quit()
    ended(session)
  }

  function retire(entry: (typeof idle)[number]): Promise<void> {
    unlist(entry)
    return leave(entry.session)
  }

  function unlist(entry: (typeof idle)[number]): void {
    idle.splice(idle.indexOf(entry), 1)
    clearTimeout(entry.timer)
  }

  function closeOldest(): Promise<void> | null {
    return idle[0] ? retire(idle[0]) : null
  }

  return {
    holder,
    unused(fits) {
      for (;;) {
        const kept = idle.findLast(({ session }) => fits(session))
        if (kept === undefined) return null
        unlist(kept)
        if (kept.session.usable()) return kept.session
        drop(kept.session)
      }
    },
    hasUnused: (fits) => idle.some(({ session }) => fits(session)),
    idle: () => idle.length,
    opened: (session) => void sessions.add(session),
    keep(session) {
      const entry = { session, timer: setTimeout(() => void retire(entry), idleMs) }
      idle.push(entry)
    },
    drop,
    leave,
    closeOldest,
    close: () => Promise.all([...idle].map((entry) => retire(entry))),
  }
}
