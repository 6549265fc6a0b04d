// Asks for what must be known to accept a message while the message still comes, so that its commit waits for one round trip less.
import type { AskedSendFacts, SendFacts } from '../../db/emails/sendFacts.ts'
import { isUnavailable } from '../../db/failures.ts'
import { NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { EmailGroups } from './groups.ts'

/** How long an answer counts: meanwhile the domain may be deleted, or a recipient become a contact. A small message takes a few round trips to its client. */
export const FRESH_MS = 250

/** What was asked ahead. */
export interface FactsAhead {
  asked: AskedSendFacts
  /** When, by `performance.now()`. */
  asked_ms: number
  /** Rejects as `findFacts`. */
  facts: Promise<SendFacts>
}

/** Asks, and does not wait. */
export function askAhead(
  { findFacts }: Pick<EmailGroups, 'findFacts'>,
  workspaceId: WorkspaceId,
  asked: AskedSendFacts,
): FactsAhead {
  const facts = findFacts(workspaceId, asked)
  // The message may be given up before anybody waits for it.
  facts.catch(() => undefined)
  return { asked, asked_ms: performance.now(), facts }
}

/**
 * Gives what was asked ahead if it is for the same email, not old, and accepted; else asks. So an email is refused by what is true at its end.
 * @param isAccepted whether the email is not refused by such facts
 * @throws as `findFacts`; what it has failed by ahead where no connection was free, or Postgres was away: to ask again would wait as long
 */
export async function factsOf(
  { findFacts }: Pick<EmailGroups, 'findFacts'>,
  workspaceId: WorkspaceId,
  asked: AskedSendFacts,
  ahead: FactsAhead | null,
  isAccepted: (facts: SendFacts) => boolean,
): Promise<SendFacts> {
  const isUsable =
    ahead && performance.now() - ahead.asked_ms <= FRESH_MS && isSame(ahead.asked, asked)
  const known = isUsable ? await ahead.facts.catch(throwUnavailable) : null
  return known && isAccepted(known) ? known : findFacts(workspaceId, asked)
}

/** @throws what asking again would only wait for */
function throwUnavailable(err: unknown): null {
  if (isUnavailable(err) || err instanceof NoPlace) throw err
  return null
}

const isSame = (one: AskedSendFacts, other: AskedSendFacts): boolean =>
  one.domainName === other.domainName &&
  one.addresses.length === other.addresses.length &&
  one.addresses.every((address, i) => address === other.addresses[i])
