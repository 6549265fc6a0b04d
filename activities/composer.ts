// Loads, composes and signs mail; recipients of one email that are under way together share its bytes.
import type { KeyObject } from 'node:crypto'
import { type EmailContent, isTransactional, listEmailContents } from '../db/emailContents.ts'
import { parseMailbox } from '../domain/addresses.ts'
import { signMessage } from '../mail/dkim.ts'
import { loadKey } from '../mail/dkimKeys.ts'
import { composeMessage } from '../mail/mime.ts'
import { textFromHtml } from '../mail/text.ts'
import { createBatcher } from './batcher.ts'
import type { ActivityDeps } from './deps.ts'

export interface ComposedEmail {
  /** CRLF bytes, DKIM-signed: the same for each attempt and each recipient. */
  bytes: Buffer
  acceptedAt: number
  /** The domain of the return path. */
  mailFromDomain: string
  transactional: boolean
}

const LOAD_MAX = 100
const KEYS_MAX = 1000

/** A composer: `use` runs work with an email's bytes, which are forgotten when its last user is done. */
export function createComposer(deps: Pick<ActivityDeps, 'db' | 'config'>) {
  const keys = new Map<string, KeyObject>()
  const inUse = new Map<string, { email: Promise<ComposedEmail>; users: number }>()

  const load = createBatcher(async (ids: string[]) => {
    const found = new Map((await listEmailContents(deps.db, ids)).map((row) => [row.id, row]))
    return ids.map((id) => found.get(id))
  }, LOAD_MAX)

  /** Keys are immutable; a rotated one has another ciphertext. */
  const keyOf = (encrypted: Buffer): KeyObject => {
    const name = encrypted.toString('base64')
    const known = keys.get(name)
    if (known) return known
    const key = loadKey(deps.config.secretKey, encrypted)
    if (keys.size >= KEYS_MAX) keys.clear()
    keys.set(name, key)
    return key
  }

  const compose = async (id: string): Promise<ComposedEmail> => {
    const email = await load(id)
    if (!email) throw new Error(`email ${id} or its domain is gone`)
    const message = await composeMessage(toComposeInput(email, deps.config.publicUrl))
    const bytes = await signMessage(message, {
      domain: email.domain_name,
      selector: email.dkim_selector,
      key: keyOf(email.private_key),
      date: email.created_at,
    })
    return {
      bytes,
      acceptedAt: email.created_at.getTime(),
      mailFromDomain: `bounces.${email.domain_name}`,
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
