// Writes a group at once, or one by one.
import { isPassing } from '../db/failures.ts'

/**
 * Writes a group. If Postgres refuses it, writes one by one, so that one bad row does not block the others; not where it takes nothing now,
 * since each of them would wait for a lock or for a disk as long as all have done.
 * @returns for each the error that kept it from being written, or undefined
 */
export async function writeGroupOrEach<T>(
  group: T[],
  write: (some: T[]) => Promise<void>,
): Promise<unknown[]> {
  try {
    await write(group)
    return group.map(() => undefined)
  } catch (err) {
    if (isPassing(err) || group.length === 1) return group.map(() => err)
    const faults: unknown[] = []
    for (const one of group) faults.push(...(await writeGroupOrEach([one], write)))
    return faults
  }
}
