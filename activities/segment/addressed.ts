// Who gets a mail of a node: the contact with copies for the team, or the team alone.
import { parseMailbox } from '../../rules/addresses.ts'
import type { MailContent } from '../../rules/interpreterTypes.ts'
import { isToTeam, listAddresses } from '../../rules/nodes/teamAddresses.ts'

interface Addressed {
  /** As recipients see them. */
  to: string[]
  cc: string[]
  /** Bare addresses, each once; that of the contact first. */
  recipients: string[]
  /** Those of the recipients who are of the team. */
  team: string[]
}

/**
 * @param contact their bare address; a copy for that one is left out
 * @param fault what keeps mail from being sent to the team's address in that field; null: nothing
 * @returns a text that says why it cannot be sent
 */
export function addressMail(
  mail: Pick<MailContent, 'to' | 'cc'>,
  contact: string,
  fault: (key: 'to' | 'cc', address: string) => string | null,
): Addressed | string {
  const named = (['to', 'cc'] as const).flatMap((key) =>
    listAddresses(mail[key]).map((address) => fault(key, address)),
  )
  const why = named.find((one) => one !== null)
  if (why) return why
  const [to, cc] = [listAddresses(mail.to), listAddresses(mail.cc)]
  if (isToTeam(mail)) {
    const team = bareOf([...to, ...cc])
    return { to, cc, recipients: team, team }
  }
  const copies = cc.filter((one) => keyOf(one) !== contact.toLowerCase())
  const team = bareOf(copies)
  return { to: [contact], cc: copies, recipients: [contact, ...team], team }
}

const keyOf = (mailbox: string) => (parseMailbox(mailbox)?.address ?? mailbox).toLowerCase()

/** The bare addresses, each once. */
function bareOf(mailboxes: string[]): string[] {
  const first = mailboxes.filter(
    (one, place) => mailboxes.findIndex((other) => keyOf(other) === keyOf(one)) === place,
  )
  return first.map((one) => parseMailbox(one)?.address ?? one)
}
