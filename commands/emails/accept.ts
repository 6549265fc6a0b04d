// Accepts an email: checks the sending domain, renders Liquid, and commits the email with its deliveries.

import { isUnavailable } from '../../db/failures.ts'
import type { PublishedTemplate } from '../../db/templates/published.ts'
import { addressDomain } from '../../rules/addresses.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import { maySendFrom } from '../../rules/states.ts'
import type { CommandDeps } from '../deps.ts'
import type { DailyLimit } from '../limits/daily.ts'
import { transact } from '../transact.ts'
import type { EmailGroups } from './groups.ts'
import { type Attachment, newEmail } from './newEmail.ts'
import { renderContent } from './render.ts'
import { writeEmail } from './write.ts'

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
  /** The key that asks, whose emails may be limited; null: none does. */
  keyId: string | null
  /** False: Liquid that reads a contact is refused. */
  mayReadContacts: boolean
}

export type AcceptRefusal = Refusal<
  | 'daily_limit'
  | 'domain_not_found'
  | 'domain_not_of_key'
  | 'domain_not_verified'
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

/**
 * Commits the email before it returns an id. Without automation contacts among the recipients that is one
 * statement, which it may share with other emails of the workspace; otherwise it is a transaction.
 */
export async function acceptEmail(
  deps: AcceptDeps,
  { workspaceId, domainId: onlyDomainId }: Reach,
  input: AcceptEmail,
): Promise<{ id: string } | AcceptRefusal> {
  const { template, recipients } = input
  const domainName = addressDomain(input.sender.address)
  const contactKeys = recipients.map((address) => address.toLowerCase())
  const facts = await deps.emailGroups.findFacts(workspaceId, {
    domainName,
    addresses: contactKeys,
  })
  const { domain } = facts
  if (onlyDomainId !== null && onlyDomainId !== domain?.id) {
    return refuse('domain_not_of_key', { name: domainName })
  }
  if (!domain) return refuse('domain_not_found', { name: domainName })
  if (!maySendFrom(domain.status) && !deps.config.allowUnverifiedDomains) {
    return refuse('domain_not_verified', { name: domainName })
  }
  const content = await renderContent(deps, workspaceId, input)
  if (isRefusal(content)) return content
  const email = newEmail(deps, {
    ...input,
    category: 'transactional',
    replyTo: replyTo(input.replyTo, template),
    content,
    templateId: template?.id ?? null,
    domain,
    domainName,
    sentBy: null,
    unsubscribeToken: null,
  })
  const contacts = facts.contactEmails.map((address) => ({ email: address }))
  const places = await deps.daily.take(workspaceId, input.keyId, 1)
  if (isRefusal(places)) return places
  try {
    if (contacts.length === 0) await deps.emailGroups.write(workspaceId, email)
    else await transact(deps, (inTrx) => writeEmail(inTrx, workspaceId, email, contacts))
  } catch (err) {
    // It may be committed all the same.
    if (!isUnavailable(err)) places.giveBack()
    throw err
  }
  return { id: email.row.id }
}

function replyTo(given: string[], template: PublishedTemplate | null): string[] {
  if (given.length > 0) return given
  return template?.reply_to ? [template.reply_to] : []
}
