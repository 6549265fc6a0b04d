// Bounds the bytes of large emails that are written at a time: one of 40 MB keeps a processor of Postgres for a third of a second.
import type { NewEmail } from '../../db/emails/insert.ts'
import { NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createFairBudget } from '../../runtime/fairBudget.ts'

/** Smaller emails wait for nobody. */
export const LARGE_BYTES = 256 * 1024

interface Bounds {
  /** Bytes that are written at a time, half of them of one workspace; a larger email is written alone. */
  bytesMax: number
  wait_ms: number
  /** In ms of a clock that only goes forward. */
  now: () => number
}

const usual: Bounds = { bytesMax: 8 * 1024 * 1024, wait_ms: 20_000, now: () => performance.now() }

/**
 * Makes a function that does the work which commits an email: at once, or in turn if it is large. Workspaces that wait take
 * turns. No connection of the pool is held meanwhile.
 */
export function createLargeWrites({ bytesMax, wait_ms, now }: Bounds = usual) {
  const inTurn = createFairBudget({ bytesMax, ownerBytesMax: bytesMax / 2 })
  /** @throws NoPlace when its turn came too late, which is told at once to all that wait; what the work throws */
  return <T>(workspaceId: WorkspaceId, email: NewEmail, work: () => Promise<T>): Promise<T> => {
    const bytes = bytesOf(email)
    if (bytes < LARGE_BYTES) return work()
    const began = now()
    return inTurn(workspaceId, bytes, () => {
      if (now() - began > wait_ms) throw new NoPlace('large emails before this one took too long')
      return work()
    })
  }
}

/** That of this process, all of which writes to one Postgres. */
export const largeInTurn = createLargeWrites()

/** Of a string its UTF-16 units, which are as good for this. */
const bytesOf = ({ row, attachments, source }: NewEmail): number =>
  attachments.reduce(
    (sum, { content }) => sum + content.length,
    (row.html?.length ?? 0) + (row.text?.length ?? 0) + (source?.length ?? 0),
  )
