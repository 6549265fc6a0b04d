// What this process knows of the limits of workspaces and keys, without a query for each request.
import { type LimitRow, listLimits } from '../../db/limits/reads.ts'
import { inScope, ofProcess } from '../../db/scope.ts'
import type { CommandDeps } from '../deps.ts'

/** What is older is read again, while the old one is used. */
const FRESH_MS = 1_000
/** What is older is not used before it was read again, or Postgres was waited for so long. */
const STALE_MS = 2_000
const WAIT_MS = 1_000

type Limit = Pick<LimitRow, 'per_second' | 'burst' | 'emails_per_day'>

export interface LimitBook {
  /** Resolves when what is known is at most two seconds old, or cannot be read soon. */
  fresh(): Promise<void>
  /** The limit of a workspace or key, by its id; undefined: none. */
  of(subject: string): Limit | undefined
  /** Somebody has changed a limit: it is read before the next request. */
  forget(): void
}

/**
 * Makes the book of a process. It reads all limits, of which there are few, once a second while it is asked. While they cannot
 * be read, those that were known hold; before any were, nothing is let through.
 * @param onFailure hears of a read that failed
 */
export function createLimitBook(
  { db }: Pick<CommandDeps, 'db'>,
  onFailure: (err: unknown) => void,
): LimitBook {
  let known: ReadonlyMap<string, Limit> = new Map()
  // Not by the clock of the service, which may be moved: then it would be read too late.
  let readAt = Number.NEGATIVE_INFINITY
  let isRead = false
  let failure: unknown
  let changes = 0
  let reading: Promise<void> | undefined

  const read = (): Promise<void> => {
    const [began, before] = [performance.now(), changes]
    reading ??= inScope(ofProcess, () => listLimits(db))
      .then((rows) => {
        known = new Map(rows.map(({ subject, ...limit }) => [subject, limit]))
        isRead = true
      })
      .catch((err: unknown) => {
        failure = err
        onFailure(err)
      })
      .finally(() => {
        reading = undefined
        // A change that was told meanwhile may have come too late for this read.
        readAt = changes === before ? began : Number.NEGATIVE_INFINITY
      })
    return reading
  }

  return {
    async fresh() {
      const age = performance.now() - readAt
      if (isRead && age < FRESH_MS) return
      const done = read()
      if (!isRead) {
        await done
        // Without them nobody would be limited.
        if (!isRead) throw failure
      } else if (age >= STALE_MS) await soon(done)
    },
    of: (subject) => known.get(subject),
    forget() {
      changes++
      readAt = Number.NEGATIVE_INFINITY
    },
  }
}

/** Resolves with the read, or without it when Postgres is slow: what was known holds then. */
async function soon(done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, WAIT_MS)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}
