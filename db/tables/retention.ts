// The table of what is deleted once it is old.

/** When workers look again for what is too old to be kept, and how long they keep it, by part (`db/retention/parts.ts`). */
export interface RetentionPartsTable {
  name: string
  /** A worker that begins puts it off, so that no other one does the same meanwhile. */
  next_at: Date
  /** The setting of the worker that has looked last; null: the part has none. */
  days: number | null
}
