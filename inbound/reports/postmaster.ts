// Mail for the postmaster of our domains (RFC 5321 section 4.5.1): forwarded to the operator, and never stored here.
import { setTimeout as delay } from 'node:timers/promises'
import { octetsOf } from '../../mail/carried/sign.ts'
import type { MailTransport, Outcome } from '../../mail/transport.ts'
import { clientNetwork } from '../../rules/mail/clientNetwork.ts'
import { MAIL_FROM_LABEL } from '../../rules/mail/domainRecords.ts'
import { SmtpRefusal } from '../refusal.ts'
import { isLooping, withReceived } from './forwarded.ts'
import { createWindow } from './window.ts'

/** Recipients that one client may name in a minute, and mails that all may send. */
const PER_CLIENT_MAX = 5
const ALL_MAX = 20
const UNDER_WAY_MAX = 5
/** Clients wait ten minutes for the reply to their dot (RFC 5321 section 4.5.3.2.6). */
const WAIT_MS = 120_000

export type PostmasterOutcome = 'forwarded' | 'refused' | 'later' | 'loop' | 'too_many'

export interface PostmasterDeps {
  /** Where the mail goes. */
  to: string
  /** Our names: the first is the one that we say. Their postmaster is ours. */
  names: readonly string[]
  /** Whether a workspace sends from one of these domains. */
  isSendingDomain: (names: string[]) => Promise<boolean>
  transport: Pick<MailTransport, 'send'>
  now: () => Date
  count: (outcome: PostmasterOutcome) => void
}

export interface PostmasterMail {
  /** The return path, which stays as it is: '' for `<>`, so that nothing is ever sent back for a report. */
  from: string
  helo: string
  address: string
  message: Buffer
}

/**
 * Makes the postmaster's mailbox. A mail is taken when the next server has taken it; until then its sender keeps it,
 * so that none is lost and none is bounced by us.
 */
export function createPostmaster(deps: PostmasterDeps) {
  const [name = 'localhost'] = deps.names
  const asked = createWindow(deps.now)
  const sent = createWindow(deps.now)
  let underWay = 0

  const tooMany = () => {
    deps.count('too_many')
    return new SmtpRefusal(451, '4.7.1 Too much mail for the postmaster, try again later')
  }

  async function isOurs(domain: string): Promise<boolean> {
    if (domain === '' || deps.names.includes(domain)) return true
    const prefix = `${MAIL_FROM_LABEL}.`
    const above = domain.startsWith(prefix) ? [domain.slice(prefix.length)] : []
    return deps.isSendingDomain([domain, ...above])
  }

  return {
    /** What is said to a recipient `postmaster@domain`: null to go on, `unknown` for a domain that is not ours. */
    async admit(domain: string, remoteAddress: string): Promise<SmtpRefusal | 'unknown' | null> {
      if (asked.add(clientNetwork(remoteAddress)) > PER_CLIENT_MAX) return tooMany()
      return (await isOurs(domain)) ? null : 'unknown'
    },
    /** Resolves when the next server has taken the mail. @throws SmtpRefusal when it has not */
    async forward({ from, helo, address, message }: PostmasterMail): Promise<void> {
      if (isLooping(message, name)) {
        deps.count('loop')
        throw new SmtpRefusal(554, '5.4.6 This mail goes in a circle')
      }
      if (underWay >= UNDER_WAY_MAX || sent.add('') > ALL_MAX) throw tooMany()
      const bytes = withReceived(message, { name, helo, address, at: deps.now() })
      const envelope = { from, to: deps.to, bytes: bytes.length, octets: octetsOf(bytes) }
      underWay += 1
      const sending = deps.transport
        .send(envelope, bytes, async () => true)
        .finally(() => {
          underWay -= 1
        })
      const outcome = await Promise.race([sending, delay(WAIT_MS, null, { ref: false })])
      const refusal = refusalOf(outcome)
      deps.count(refusal === null ? 'forwarded' : refusal.responseCode < 500 ? 'later' : 'refused')
      if (refusal) throw refusal
    },
  }
}

/** What the sender is told; the next server's own words stay here, since they may hold addresses. */
function refusalOf(outcome: Outcome | null): SmtpRefusal | null {
  if (outcome?.kind === 'delivered') return null
  if (outcome?.kind === 'rejected' && outcome.code >= 500) {
    return new SmtpRefusal(554, "5.0.0 The postmaster's mail server does not take this mail")
  }
  return new SmtpRefusal(
    451,
    "4.4.1 The postmaster's mail server cannot be reached, try again later",
  )
}
