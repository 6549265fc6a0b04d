// The mailboxes of the listener: what a recipient's address stands for.
import { parseUnsubscribeMailbox, parseVerp } from '../../mail/tracking/mailboxes.ts'
import type { MacCheck } from '../../rules/mac.ts'
import { toAscii } from '../toAscii.ts'

export type Mailbox =
  | { kind: 'return_path'; deliveryId: number }
  /** The caller still has to look up the token. */
  | { kind: 'unsubscribe'; token: string }
  /** The mailbox that was registered with feedback loops. */
  | { kind: 'feedback' }
  /** Of a domain in lower case, which the caller still has to look up; '' for `<postmaster>` alone. */
  | { kind: 'postmaster'; domain: string }

/** Makes a function that reads a recipient's address; null for an address that nothing here has. */
export function createMailboxes(settings: {
  verpCheck: MacCheck
  fblAddress: string | null
  takesPostmaster: boolean
}) {
  const fblAddress = settings.fblAddress?.toLowerCase()
  return (given: string): Mailbox | null => {
    const address = toAscii(given)
    const verp = parseVerp(settings.verpCheck, address)
    if (verp) return { kind: 'return_path', ...verp }
    const token = parseUnsubscribeMailbox(address)
    if (token !== null) return { kind: 'unsubscribe', token }
    const name = address.toLowerCase()
    if (name === fblAddress) return { kind: 'feedback' }
    // RFC 5321 section 4.5.1: in any case of letters, and without a domain too.
    const [, domain] = /^postmaster(?:@([a-z0-9.-]+))?$/.exec(name) ?? [null, null]
    if (!settings.takesPostmaster || domain === null) return null
    return { kind: 'postmaster', domain: domain ?? '' }
  }
}
