// Bounds how much is read of what comes to one kind of mailbox: reading goes on where the other work of the process does.
import { SmtpRefusal } from '../refusal.ts'
import { createWindow } from './window.ts'

/**
 * What is read in a minute of all: reading takes up to 0.3 s for each MiB. Who is put off sends again. Reports have some KiB, or as much of the
 * mail as a server returns with them, 50 or 100 kB: large ones have half, so that they never keep all others out.
 */
const ALL_BYTES_MAX = 32 * 1024 * 1024
const LARGE_BYTES_MAX = ALL_BYTES_MAX / 2
const SMALL_REPORT_BYTES_MAX = 128 * 1024

interface Bound {
  now: () => Date
  /** What is read in a minute of those that one sender has few of: whoever fills that is put off alone. */
  eachBytesMax: number
  /** As much as a smaller message counts. */
  bytesMin?: number
}

/**
 * Makes the function to be called before a message is read.
 * @returns a function that throws SmtpRefusal when it is not to be read now. `names`: what it counts for, each of them up to `eachBytesMax`
 */
export function createReadBound({ now, eachBytesMax, bytesMin = 0 }: Bound) {
  const each = createWindow(now)
  const large = createWindow(now)
  const all = createWindow(now)
  const refuses = (names: string[], bytes: number): boolean => {
    const counts = names.map((name) => each.add(name, bytes))
    if (counts.some((count) => count > eachBytesMax)) return true
    if (bytes > SMALL_REPORT_BYTES_MAX && large.add('', bytes) > LARGE_BYTES_MAX) return true
    return all.add('', bytes) > ALL_BYTES_MAX
  }
  return ({ length }: Buffer, names: string[]): void => {
    if (refuses(names, Math.max(length, bytesMin))) {
      throw new SmtpRefusal(451, '4.7.1 Too much for this mailbox, try again later')
    }
  }
}
