// Accepts a whole message, which is sent as it was written: commits the email with its deliveries and its source.
import type { SendFacts } from '../../db/emails/sendFacts.ts'
import { insertSourceRest, SOURCE_SLICE_BYTES } from '../../db/emails/sources.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type DailyLimit, withDayPlaces } from '../limits/daily.ts'
import { transact } from '../transact.ts'
import { factsAsked } from './accept.ts'
import { type FactsAhead, factsOf } from './factsAhead.ts'
import type { EmailGroups } from './groups.ts'
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
  /** The message's own, without angle brackets; undefined: it has none. */
  messageId: string | undefined
  /** What was asked while the message came; null: nothing was. */
  ahead: FactsAhead | null
  /** Makes the message with what it lacks; `messageId` without angle brackets. */
  sourceWith: (added: { messageId: string; date: Date }) => Buffer
}

export type SubmitDeps = Pick<
  CommandDeps,
  'db' | 'newId' | 'now' | 'wake' | 'config' | 'addressMac'
> & {
  emailGroups: EmailGroups
  daily: DailyLimit
}

/**
 * Commits the email before it returns an id, as `acceptEmail` does. A source of more than one slice takes a transaction, and a
 * round trip for each further slice.
 */
export async function submitEmail(
  deps: SubmitDeps,
  { workspaceId, domainId: onlyDomainId }: Reach,
  input: SubmitEmail,
): Promise<{ id: string } | SenderRefusal | Refusal<'daily_limit'>> {
  const { subject, html, text } = input
  const asked = factsAsked(input)
  const { domainName } = asked
  const { recipients } = input
  const senderOf = ({ domain }: SendFacts) =>
    checkSender(deps, { onlyDomainId, domainName, domain, recipients })
  const isAccepted = (facts: SendFacts) => !isRefusal(senderOf(facts))
  const facts = await factsOf(deps.emailGroups, workspaceId, asked, input.ahead, isAccepted)
  const domain = senderOf(facts)
  if (isRefusal(domain)) return domain
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
  const { id, message_id: messageId, scheduled_at, created_at } = made.row
  const date = scheduled_at ?? created_at
  const source = input.sourceWith({ messageId, date })
  const email = { ...made, source }
  const told = scheduled_at === null ? facts.contactEmails : []
  const contacts = told.map((address) => ({ email: address }))
  const isOneSlice = source.length <= SOURCE_SLICE_BYTES
  const refusal = await withDayPlaces(deps, workspaceId, input.keyId, 1, () =>
    contacts.length === 0 && isOneSlice
      ? deps.emailGroups.write(workspaceId, email)
      : transact(deps, async (inTrx) => {
          await writeEmail(inTrx, workspaceId, email, contacts)
          await insertSourceRest(inTrx.db, id, source)
        }),
  )
  return refusal ?? { id }
}
