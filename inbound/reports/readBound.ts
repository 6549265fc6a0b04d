// Bounds how much is read of what comes to one kind of mailbox: reading goes on where the other work of the process does.
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'
import { SmtpRefusal } from '../refusal.ts'
import { createWindow } from './window.ts'

/**
 * What of one client, and what of all of them is read in a minute: reading takes up to 0.3 s for each MiB. Reports have some KiB; who is put
 * off sends again.
 */
const CLIENT_BYTES_MAX = 8 * 1024 * 1024
const ALL_BYTES_MAX = 32 * 1024 * 1024

/**
 * Makes the function to be called before a message is read.
 * @param bytesMin as much as a smaller message counts
 * @returns a function that throws SmtpRefusal when it is not to be read now
 */
export function createReadBound(now: () => Date, bytesMin = 0) {
  const clients = createWindow(now)
  const all = createWindow(now)
  return (raw: Buffer, remoteAddress: string): void => {
    const bytes = Math.max(raw.length, bytesMin)
    const client = clients.add(clientNetwork(remoteAddress), bytes)
    if (client > CLIENT_BYTES_MAX || all.add('', bytes) > ALL_BYTES_MAX) {
      throw new SmtpRefusal(451, '4.7.1 Too much for this mailbox, try again later')
    }
  }
}
