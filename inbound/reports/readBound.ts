// Bounds how much is read of what comes to one kind of mailbox: reading goes on where the other work of the process does.
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'
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
  /** What is read in a minute of one client: who fills that is put off alone. By default as much as a relay needs that returns all mail. */
  clientBytesMax?: number
  /** What is read in a minute to one return path. */
  pathBytesMax?: number
  /** As much as a smaller message counts. */
  bytesMin?: number
}

/**
 * Makes the function to be called before a message is read.
 * @returns a function that throws SmtpRefusal when it is not to be read now. `paths`: the deliveries whose return paths it came to
 */
export function createReadBound({
  now,
  clientBytesMax = ALL_BYTES_MAX / 2,
  pathBytesMax = Infinity,
  bytesMin = 0,
}: Bound) {
  const path = createWindow(now)
  const client = createWindow(now)
  const large = createWindow(now)
  const all = createWindow(now)
  const refuses = (address: string, paths: number[], bytes: number): boolean => {
    const counts = paths.map((id) => path.add(String(id), bytes))
    if (counts.some((count) => count > pathBytesMax)) return true
    if (client.add(clientNetwork(address), bytes) > clientBytesMax) return true
    if (bytes > SMALL_REPORT_BYTES_MAX && large.add('', bytes) > LARGE_BYTES_MAX) return true
    return all.add('', bytes) > ALL_BYTES_MAX
  }
  return ({ length }: Buffer, remoteAddress: string, paths: number[] = []): void => {
    if (refuses(remoteAddress, paths, Math.max(length, bytesMin))) {
      throw new SmtpRefusal(451, '4.7.1 Too much for this mailbox, try again later')
    }
  }
}
