// Asks for what must be known to accept a message while the message still comes, so that its commit waits for one round trip less.
import type { AskedSendFacts, SendFacts } from '../../db/emails/sendFacts.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { EmailGroups } from './groups.ts'

/** How long an answer counts: meanwhile the domain may be deleted, or a recipient become a contact. A small message takes a few round trips to its client. */
const FRESH_MS = 250

/** What was asked ahead. */
export interface FactsAhead {
  asked: AskedSendFacts
  /** When, by `performance.now()`. */
  at: number
  /** Null: they could not be read. */
  facts: Promise<SendFacts | null>
}

/** Asks, and does not wait. */
export function askAhead(
  { findFacts }: Pick<EmailGroups, 'findFacts'>,
  workspaceId: WorkspaceId,
  asked: AskedSendFacts,
): FactsAhead {
  const facts = findFacts(workspaceId, asked).catch(() => null)
  return { asked, at: performance.now(), facts }
}

/** Gives what was asked ahead if it is the same and not old, and asks else. @throws as `findFacts` */
export async function factsOf(
  { findFacts }: Pick<EmailGroups, 'findFacts'>,
  workspaceId: WorkspaceId,
  asked: AskedSendFacts,
  ahead: FactsAhead | null,
): Promise<SendFacts> {
  const isGood = ahead && performance.now() - ahead.at <= FRESH_MS && isSame(ahead.asked, asked)
  const known = isGood ? await ahead.facts : null
  return known ?? findFacts(workspaceId, asked)
}

const isSame = (one: AskedSendFacts, other: AskedSendFacts): boolean =>
  one.domainName === other.domainName &&
  one.addresses.length === other.addresses.length &&
  one.addresses.every((address, i) => address === other.addresses[i])
