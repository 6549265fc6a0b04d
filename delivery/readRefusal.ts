// Reads what a server refused, under the guard of its mail, because the reply may end the worker.
import type { Outcome } from '../mail/transport.ts'
import type { Bounce } from '../rules/mail/bounceRules.ts'
import { NotAlone } from '../runtime/gate.ts'
import type { ComposedEmail } from './compose/composer.ts'
import { refusalOf } from './nextState.ts'

/** What is stored in place of a reply that was not read. It is in the conversation of the attempt. */
const UNREAD = 'refused, with a reply that could not be read now'

/**
 * An outcome, with what it refuses. If a reply cannot be read now, because it is suspected of ending workers and found no
 * moment alone, the outcome is a failure without it: the server was asked, so the attempt counts, and the next one comes
 * by the schedule.
 */
export async function readRefusal(
  outcome: Outcome,
  readReply: ComposedEmail['readReply'],
  ofRelay: boolean,
): Promise<{ outcome: Outcome; refusal: Bounce | null }> {
  if (outcome.kind !== 'rejected') return { outcome, refusal: null }
  try {
    return { outcome, refusal: await readReply(() => refusalOf(outcome, ofRelay)) }
  } catch (err) {
    if (!(err instanceof NotAlone)) throw err
    return { outcome: { kind: 'failed', phase: outcome.phase, error: UNREAD }, refusal: null }
  }
}
