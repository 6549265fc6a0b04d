// Loads, composes and signs mail; recipients of one email that are under way together share its bytes.
import { type EmailContent, isTransactional, listEmailContents } from '../db/emailContents.ts'
import { parseMailbox } from '../domain/addresses.ts'
import { signMessage } from '../mail/dkim.ts'
import { MAIL_FROM_LABEL } from '../mail/domainRecords.ts'
import { composeMessage } from '../mail/mime.ts'
import { textFromHtml } from '../mail/text.ts'
import { createBatcher } from './batcher.ts'
import type { ActivityDeps } from './deps.ts'
import { createSigners } from './signers.ts'

export interface ComposedEmail {
  /** CRLF bytes, DKIM-signed: the same for each attempt and each recipient. */
  bytes: Buffer
  acceptedAt: number
  /** The domain of the return path. */
  mailFromDomain: string
  transactional: boolean
}

const LOAD_MAX = 100

/** A composer: `use` runs work with an email's bytes, which are forgotten when its last user is done. */
export function createComposer(deps: Pick<ActivityDeps, 'db' | 'config' | 'now'>) {
  const signers = createSigners(deps)
  const inUse = new Map<string, { email: Promise<ComposedEmail>; users: number }>()

  const load = createBatcher(async (ids: string[]) => {
    const found = new Map((await listEmailContents(deps.db, ids)).map((row) => [row.id, row]))
    return ids.map((id) => found.get(id))
  }, LOAD_MAX)

  const compose = async (id: string): Promise<ComposedEmail> => {
    const email = await load(id)
    if (!email) throw new Error(`email ${id} is gone`)
    const { domain, keys } = await signers(email.domain_id, email.created_at)
    const message = await composeMessage(toComposeInput(email, deps.config.publicUrl))
    const options = keys.map((key) => ({ ...key, domain, date: email.created_at }))
    const bytes = await signMessage(message, options)
    return {
      bytes,
      acceptedAt: email.created_at.getTime(),
      mailFromDomain: `${MAIL_FROM_LABEL}.${domain}`,
      transactional: isTransactional(email),
    }
  }

  return async <T>(emailId: string, work: (email: ComposedEmail) => Promise<T>): Promise<T> => {
    const entry = inUse.get(emailId) ?? { email: compose(emailId), users: 0 }
    inUse.set(emailId, entry)
    entry.users += 1
    try {
      return await work(await entry.email)
    } finally {
      entry.users -= 1
      if (entry.users === 0) inUse.delete(emailId)
    }
  }
}

function toComposeInput(email: EmailContent, publicUrl: string) {
  const marketing = !isTransactional(email)
  return {
    id: email.id,
    from: mailbox(email.from),
    to: email.to.map(mailbox),
    cc: email.cc.map(mailbox),
    replyTo: email.reply_to.map(mailbox),
    subject: email.subject,
    html: email.html,
    text: email.text ?? (email.html === null ? null : textFromHtml(email.html)),
    date: email.created_at,
    messageId: email.message_id,
    headers: email.headers,
    attachments: email.attachments.map((part) => ({
      filename: part.filename,
      contentType: part.content_type,
      contentId: part.content_id,
      content: part.content,
    })),
    unsubscribe:
      marketing && email.unsubscribe_token
        ? { url: `${publicUrl}/u/${email.unsubscribe_token}` }
        : null,
    feedbackId: `${email.workflow_id ?? email.id}:${kindOf(email)}:${email.workspace_id}:dripline`,
  }
}

const kindOf = (email: EmailContent) => (email.type === 'broadcast' ? 'broadcast' : email.category)

/** Addresses were parsed when the mail was accepted; one that no longer parses must not be sent to. */
function mailbox(text: string) {
  const parsed = parseMailbox(text)
  if (!parsed) throw new Error('a stored address does not parse')
  return parsed
}
