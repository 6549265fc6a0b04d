// Writes what workers know of a namespace of Temporal, and who of them looks at it now.
import type { Trx } from '../connect.ts'
import type { NamespaceRow } from './reads.ts'

/** A round over a namespace: nobody else begins one before `until`. */
export interface Round {
  name: string
  until: Date
}

/** Takes the next round, if it is due. @returns what is known; undefined if it is not due, or somebody has it */
export function claimRound(
  trx: Trx,
  { name, until }: Round,
  now: Date,
): Promise<NamespaceRow | undefined> {
  return trx
    .insertInto('temporal_namespaces')
    .values({ name, next_at: until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ next_at: until })
        .where('temporal_namespaces.next_at', '<=', now),
    )
    .returningAll()
    .executeTakeFirst()
}

export interface NamespaceChange {
  id?: string
  swept_until?: Date
  unseen_until?: Date | null
  walk?: object | null
  lap_lost?: number
  next_at?: Date
}

/** Writes what a round has found. @returns false if the round is no longer its own: then nothing was written */
export async function updateRound(
  trx: Trx,
  { name, until }: Round,
  { walk, ...change }: NamespaceChange,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('temporal_namespaces')
    .set({
      ...change,
      ...(walk === undefined ? {} : { walk: walk && JSON.stringify(walk) }),
    })
    .where('name', '=', name)
    .where('next_at', '=', until)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
