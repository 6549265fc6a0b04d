// Accepts an email: checks the sending domain, renders Liquid, and commits the email with its deliveries.

import type { NewEmail } from '../../db/emails/insert.ts'
import type { AskedSendFacts, SendFacts } from '../../db/emails/sendFacts.ts'
import type { PublishedTemplate } from '../../db/templates/published.ts'
import { addressDomain } from '../../rules/addresses.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type DailyLimit, withDayPlaces } from '../limits/daily.ts'
import { transact } from '../transact.ts'
import type { EmailGroups } from './groups.ts'
import { largeInTurn } from './largeWrites.ts'
import { type Attachment, type EmailParts, newEmail } from './newEmail.ts'
import { type EmailContent, literalContent, renderContent } from './render.ts'
import { checkSender, type SenderRefusal } from './sender.ts'
import { type ToldContact, writeEmail } from './write.ts'

export interface AcceptEmail {
  /** As recipients see them: addresses with display names. */
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  /** The bare address of `from`. */
  sender: { address: string }
  /** Bare addresses of to, cc and bcc, each once. */
  recipients: string[]
  subject?: string | undefined
  /** A large one as its UTF-8. */
  html?: string | Buffer | undefined
  text?: string | Buffer | undefined
  /** The result of `findEmailTemplate`. */
  template: PublishedTemplate | null
  /** If given, subject, html and text are Liquid. */
  variables?: JsonObject | undefined
  headers: Record<string, string>
  tags: Record<string, string>
  metadata: JsonObject
  attachments: Attachment[]
  /** Overrides the settings of the domain. */
  tracking: { opens?: boolean; clicks?: boolean }
  /** The time that is asked for, in ms; null: none is. */
  scheduledAt: number | null
  /** The key that asks, whose emails may be limited; null: none does. */
  keyId: string | null
  /** False: Liquid that reads a contact is refused. */
  mayReadContacts: boolean
}

export type AcceptRefusal =
  | SenderRefusal
  | Refusal<
      | 'daily_limit'
      | 'invalid_template'
      | 'contact_unreadable'
      | 'template_too_slow'
      | 'renderer_busy'
      | 'subject_too_long'
    >

export type AcceptDeps = Pick<
  CommandDeps,
  'db' | 'newId' | 'now' | 'wake' | 'config' | 'renderer' | 'addressMac'
> & {
  emailGroups: EmailGroups
  daily: DailyLimit
}

interface AcceptedEmail {
  id: string
  status: 'queued' | 'scheduled'
}

/** An email that may be committed, and those of its recipients who are automation contacts. */
export interface PreparedEmail {
  email: NewEmail
  /** In the order of their ids; none of scheduled mail, of which they are told when it is due. */
  contacts: ToldContact[]
}

/**
 * Commits the email before it returns an id. Without automation contacts among the recipients that is one
 * statement, which it may share with other emails of the workspace; otherwise it is a transaction.
 */
export async function acceptEmail(
  deps: AcceptDeps,
  reach: Reach,
  input: AcceptEmail,
): Promise<AcceptedEmail | AcceptRefusal> {
  const { workspaceId } = reach
  const facts = await deps.emailGroups.findFacts(workspaceId, factsAsked(input))
  const ready = await prepareEmail(deps, reach, input, facts)
  if (isRefusal(ready)) return ready
  const { email, contacts } = ready.make(deps)
  const write = () =>
    contacts.length === 0
      ? deps.emailGroups.write(workspaceId, email)
      : transact(deps, (inTrx) => writeEmail(inTrx, workspaceId, email, contacts))
  const refusal = await withDayPlaces(deps, workspaceId, input.keyId, 1, () =>
    largeInTurn(workspaceId, email, write),
  )
  return refusal ?? toAccepted(email)
}

/** An email that is committed; `scheduled`: it waits for its time. */
export const toAccepted = ({ row }: NewEmail): AcceptedEmail => ({
  id: row.id,
  status: row.scheduled_at === null ? 'queued' : 'scheduled',
})

/** What must be known to accept an email. */
export const factsAsked = ({
  sender,
  recipients,
}: Pick<AcceptEmail, 'sender' | 'recipients'>): AskedSendFacts => ({
  domainName: addressDomain(sender.address),
  addresses: recipients.map((address) => address.toLowerCase()),
})

/** An email whose sender was checked, and whose content is made. */
export interface ReadyEmail {
  content: EmailContent
  /** Makes its rows, which say when: to be called when nothing but the commit is left to do, since lists find an email of a time by its id. */
  make: (deps: RowDeps) => PreparedEmail
}

type RowDeps = Parameters<typeof newEmail>[0]

/** Checks the sender and renders; at once where nothing is rendered. Nothing is written. */
export function prepareEmail(
  deps: Pick<AcceptDeps, 'db' | 'config' | 'renderer'>,
  { workspaceId, domainId: onlyDomainId }: Reach,
  input: AcceptEmail,
  { domain: found, contactEmails }: SendFacts,
): ReadyEmail | AcceptRefusal | Promise<ReadyEmail | AcceptRefusal> {
  const domainName = addressDomain(input.sender.address)
  const { recipients } = input
  const domain = checkSender(deps, { onlyDomainId, domainName, domain: found, recipients })
  if (isRefusal(domain)) return domain
  const ready = (content: EmailContent): ReadyEmail => ({
    content,
    make(rowDeps) {
      const email = emailOf(rowDeps, input, { content, domain, domainName })
      const told = email.row.scheduled_at === null ? contactEmails : []
      return { email, contacts: told.map((address) => ({ email: address })) }
    },
  })
  const literal = literalContent(input)
  if (literal) return ready(literal)
  return renderContent(deps, workspaceId, input).then((content) =>
    isRefusal(content) ? content : ready(content),
  )
}

function emailOf(
  deps: RowDeps,
  input: AcceptEmail,
  made: Pick<EmailParts, 'content' | 'domain' | 'domainName'>,
): NewEmail {
  const { content, domain, domainName } = made
  return newEmail(deps, {
    from: input.from,
    to: input.to,
    cc: input.cc,
    bcc: input.bcc,
    headers: input.headers,
    tags: input.tags,
    metadata: input.metadata,
    tracking: input.tracking,
    scheduledAt: input.scheduledAt,
    recipients: input.recipients,
    attachments: input.attachments,
    category: 'transactional',
    replyTo: replyTo(input.replyTo, input.template),
    content,
    templateId: input.template?.id ?? null,
    domain,
    domainName,
    sentBy: null,
    unsubscribeToken: null,
  })
}

function replyTo(given: string[], template: PublishedTemplate | null): string[] {
  if (given.length > 0) return given
  return template?.reply_to ? [template.reply_to] : []
}
