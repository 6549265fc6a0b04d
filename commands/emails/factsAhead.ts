// Asks for what must be known to accept a message while the message still comes, so that its commit waits for one round trip less.
import type { AskedSendFacts, SendFacts } from '../../db/emails/sendFacts.ts'
import { isUnavailable } from '../../db/failures.ts'
import { NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { EmailGroups } from './groups.ts'

/** How long an answer counts: meanwhile the domain may be deleted, or a recipient become a contact. A small message takes a few round trips to its client. */
const FRESH_MS = 250

/** What was asked ahead. */
export interface FactsAhead {
  asked: AskedSendFacts
  /** When, by `performance.now()`. */
  at: number
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
  return { asked, at: performance.now(), facts }
}

/**
 * Gives what was asked ahead if it is the same, not old, and good enough; else asks. So nothing is refused for what was true before its end.
 * @throws as `findFacts`. Where no connection is free, or Postgres is away, it does not ask again
 */
export async function factsOf(
  { findFacts }: Pick<EmailGroups, 'findFacts'>,
  workspaceId: WorkspaceId,
  asked: AskedSendFacts,
  ahead: FactsAhead | null,
  isGood: (facts: SendFacts) => boolean,
): Promise<SendFacts> {
  const isOfIt = ahead && performance.now() - ahead.at <= FRESH_MS && isSame(ahead.asked, asked)
  const known = isOfIt ? await ahead.facts.catch(unlessAsked) : null
  return known && isGood(known) ? known : findFacts(workspaceId, asked)
}

/** @throws what asking again would wait for as long */
function unlessAsked(err: unknown): null {
  if (isUnavailable(err) || err instanceof NoPlace) throw err
  return null
}

const isSame = (one: AskedSendFacts, other: AskedSendFacts): boolean =>
  one.domainName === other.domainName &&
  one.addresses.length === other.addresses.length &&
  one.addresses.every((address, i) => address === other.addresses[i])
