// Writes a group at once, or one by one.
import { isPassing, isWorthSplitting } from '../db/failures.ts'

/** So many that fail one behind the other, each alone, by what may be of one of them, say that it is of none of them. */
const ALIKE = 3

/**
 * Whether such faults say that Postgres takes nothing of this kind now: one does that cannot be of what was to be written, and several do
 * that may be. Each further write would wait for a lock or for a disk as long as they have done.
 */
export function takesNothing(faults: readonly unknown[]): boolean {
  const passing = faults.filter(isPassing)
  return passing.length >= ALIKE || passing.some((err) => !isWorthSplitting(err))
}

/**
 * Writes a group. If Postgres refuses it, writes one by one, so that one bad or held row does not block the others, for as long as it takes
 * anything.
 * @returns for each the error that kept it from being written, or undefined
 */
export async function writeGroupOrEach<T>(
  group: T[],
  write: (some: T[]) => Promise<unknown>,
): Promise<unknown[]> {
  const fault = await faultOf(() => write(group))
  if (fault === undefined || group.length === 1 || takesNothing([fault]))
    return group.map(() => fault)
  const faults: unknown[] = []
  for (const one of group) {
    const last = faults.slice(-ALIKE)
    faults.push(takesNothing(last) ? last.at(-1) : await faultOf(() => write([one])))
  }
  return faults
}

const faultOf = (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => undefined,
    (err: unknown) => err,
  )
