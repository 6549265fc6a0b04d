// Accepts a whole message, which is sent as it was written: commits the email with its deliveries and its source.
import type { SendingDomain } from '../../db/domains/sending.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import { BODY_LENGTH_MAX, isPlain } from '../../db/emails/insertMany.ts'
import type { AskedSendFacts } from '../../db/emails/sendFacts.ts'
import { insertSourceRest, SOURCE_SLICE_BYTES } from '../../db/emails/sources.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { currentHeldCommit } from '../heldCommit.ts'
import { type DailyLimit, withDayPlaces } from '../limits/daily.ts'
import { transact } from '../transact.ts'
import { factsAsked } from './accept.ts'
import type { EmailGroups } from './groups.ts'
import type { KnownDomains } from './knownDomains.ts'
import { newEmail } from './newEmail.ts'
import { checkSender, type SenderRefusal } from './sender.ts'
import { writeEmail } from './write.ts'

export interface SubmitEmail {
  /** The key that was shown, whose emails may be limited. */
  keyId: string
  /** As the message's header has it: addresses with display names. */
  from: string
  to: string[]
  cc: string[]
  replyTo: string[]
  /** The bare address of `from`. */
  sender: { address: string }
  /** Bare addresses of the envelope, each once. */
  recipients: string[]
  /** Those of them whom neither To nor Cc names. */
  bcc: string[]
  subject: string
  /** As the message's parts have them; null: there is none. */
  html: string | null
  text: string | null
  headers: Record<string, string>
  tags: Record<string, string>
  metadata: JsonObject
  tracking: { opens: boolean; clicks: boolean }
  /** The time that is asked for, in ms; null: none is. */
  scheduledAt: number | null
  /** Of the message as it came. */
  bytes: number
  /** The message's own, without angle brackets; undefined: it has none. */
  messageId: string | undefined
  /** Makes the message with what it lacks; `messageId` without angle brackets. */
  sourceWith: (added: { messageId: string; date: Date }) => Buffer
}

export type SubmitDeps = Pick<
  CommandDeps,
  'db' | 'newId' | 'now' | 'wake' | 'config' | 'addressMac'
> & {
  emailGroups: EmailGroups
  knownDomains: KnownDomains
  daily: DailyLimit
}

/**
 * Commits the email before it returns an id, as `acceptEmail` does. Most that name themselves by no key are committed in one round trip, by what
 * is known of their domain. A source of more than one slice takes a transaction, and a round trip for each further slice.
 * @throws what says that Postgres is away, when nobody knows whether it was committed; NoPlace; ClientGone
 */
export async function submitEmail(
  deps: SubmitDeps,
  reach: Reach,
  input: SubmitEmail,
): Promise<{ id: string } | SenderRefusal | Refusal<'daily_limit'>> {
  const asked = factsAsked(input)
  return (await submitKnown(deps, reach, input, asked)) ?? submitAsking(deps, reach, input, asked)
}

/**
 * Makes and commits the email by the known domain. Nothing is refused here: the domain may have changed since it was read, and who may send nothing
 * by it is told that, not of a limit.
 * @returns null: nothing was committed, and what must be known is to be asked
 */
async function submitKnown(
  deps: SubmitDeps,
  { workspaceId, domainId: onlyDomainId }: Reach,
  input: SubmitEmail,
  { domainName, addresses }: AskedSendFacts,
): Promise<{ id: string } | null> {
  // One whose answer is stored with it has a commit of its own.
  if (currentHeldCommit() || input.bytes > BODY_LENGTH_MAX) return null
  const known = deps.knownDomains.take(workspaceId, domainName)
  if (!known) return null
  const { recipients } = input
  const domain = checkSender(deps, { onlyDomainId, domainName, domain: known.domain, recipients })
  if (isRefusal(domain)) return null
  const email = emailOf(deps, input, domain, domainName)
  if (!isPlain(email)) return null
  // Contacts are told of scheduled mail when it is due.
  const made = { email, known, addresses: email.row.scheduled_at === null ? addresses : [] }
  try {
    const refusal = await withDayPlaces(deps, workspaceId, input.keyId, 1, async () => {
      if (!(await deps.emailGroups.writeIfCurrent(workspaceId, made))) throw new NotWritten()
    })
    return refusal ? null : { id: email.row.id }
  } catch (err) {
    if (err instanceof NotWritten) return null
    throw err
  }
}

/** Says that an email was not committed, so that its places of the day are given back. */
class NotWritten extends Error {}

/** Asks for the domain and the contacts among the recipients, remembers the domain, and commits. */
async function submitAsking(
  deps: SubmitDeps,
  { workspaceId, domainId: onlyDomainId }: Reach,
  input: SubmitEmail,
  asked: AskedSendFacts,
): Promise<{ id: string } | SenderRefusal | Refusal<'daily_limit'>> {
  const { domainName } = asked
  const { recipients } = input
  const facts = await deps.emailGroups.findFacts(workspaceId, asked)
  const domain = checkSender(deps, { onlyDomainId, domainName, domain: facts.domain, recipients })
  if (isRefusal(domain)) return domain
  deps.knownDomains.remember(workspaceId, domainName, domain)
  const email = emailOf(deps, input, domain, domainName)
  const { row, source } = email
  const told = row.scheduled_at === null ? facts.contactEmails : []
  const contacts = told.map((address) => ({ email: address }))
  const isOneSlice = source.length <= SOURCE_SLICE_BYTES
  const refusal = await withDayPlaces(deps, workspaceId, input.keyId, 1, () =>
    contacts.length === 0 && isOneSlice
      ? deps.emailGroups.write(workspaceId, email)
      : transact(deps, async (inTrx) => {
          await writeEmail(inTrx, workspaceId, email, contacts)
          await insertSourceRest(inTrx.db, row.id, source)
        }),
  )
  return refusal ?? { id: row.id }
}

/** The email with its source. */
function emailOf(
  deps: Pick<SubmitDeps, 'newId' | 'now' | 'config'>,
  input: SubmitEmail,
  domain: SendingDomain,
  domainName: string,
): NewEmail & { source: Buffer } {
  const { subject, html, text } = input
  const made = newEmail(deps, {
    ...input,
    category: 'transactional',
    content: { subject, html, text },
    templateId: null,
    domain,
    domainName,
    sentBy: null,
    unsubscribeToken: null,
  })
  const { message_id: messageId, scheduled_at, created_at } = made.row
  return { ...made, source: input.sourceWith({ messageId, date: scheduled_at ?? created_at }) }
}
