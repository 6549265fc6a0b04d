// Loads, composes and signs emails. Deliveries of one email that are under way together share the work.
import {
  type EmailContent,
  isTransactional,
  listEmailContents,
  readHeavyParts,
} from '../../db/emails/contents.ts'
import { createBodies } from '../../mail/compose/bodyCache.ts'
import type { ComposeInput } from '../../mail/compose/input.ts'
import { composeSigned } from '../../mail/compose/mime.ts'
import { unsubscribeMailbox } from '../../mail/tracking/mailboxes.ts'
import type { Message } from '../../mail/transport.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import { automaticOf, feedbackId } from '../../rules/mail/classes.ts'
import { MAIL_FROM_LABEL } from '../../rules/mail/domainRecords.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import type { DeliveryDeps } from '../deps.ts'
import { createBudget } from './budget.ts'
import { createHeavyPlaces, NoHeavyPlace } from './heavyPlaces.ts'
import { createMessageStore, type KeptMessage } from './messageStore.ts'
import { createSigners } from './signers.ts'
import { createTrackers, type Tracker } from './trackers.ts'

export interface ComposedEmail {
  /**
   * The message with CRLF, DKIM-signed. The same bytes for every attempt, and for every recipient unless the email
   * is tracked. It may be used until `work` ends.
   */
  message: Message
  acceptedAt: number
  /** The domain of the return path. */
  mailFromDomain: string
  transactional: boolean
}

/** What the recipients of an email have in common. */
interface Prepared extends Omit<ComposedEmail, 'message'> {
  /** @param deliveryId null: without tracking */
  bytesFor: (deliveryId: number | null) => Promise<Buffer>
}

/**
 * Runs work with a composed email.
 * @param deliveryId null: without tracking
 * @param destination where it goes, for the bounds on mail with attachments; null: without those
 * @throws NoHeavyPlace if too much such mail is under way
 */
export type UseEmail = <T>(
  emailId: string,
  work: (email: ComposedEmail) => Promise<T>,
  deliveryId?: number | null,
  destination?: string | null,
) => Promise<T>

/** A composed email with attachments or long bodies. */
interface Heavy {
  common: Omit<ComposedEmail, 'message'>
  kept: KeptMessage
}

interface Entry {
  loaded: Promise<EmailContent>
  prepared: Promise<Prepared> | undefined
  heavy: Promise<Heavy> | undefined
  users: number
}

const LOAD_MAX = 100
/**
 * Bytes of long bodies and attachments of emails that are composed at a time, which takes about three times their size.
 * They are given back as soon as the message is kept (messageStore.ts), so that nobody waits for a receiver here.
 */
const HEAVY_BYTES_MAX = 64 * 1024 * 1024

/**
 * Makes a function that runs `work` with the bytes of an email. They are dropped when the last delivery of the
 * email is done. The links and the pixel of a tracked email differ for each delivery; its links are committed
 * before `work` begins.
 */
export function createComposer(
  deps: Pick<DeliveryDeps, 'db' | 'wake' | 'config' | 'now' | 'secrets'>,
): UseEmail {
  const signers = createSigners(deps)
  const trackers = createTrackers(deps)
  const bodies = createBodies()
  const heavily = createBudget(HEAVY_BYTES_MAX)
  const takePlace = createHeavyPlaces()
  const store = createMessageStore(deps.config.stateFolder)
  const inUse = new Map<string, Entry>()

  const load = createBatcher(async (ids: string[]) => {
    const found = new Map((await listEmailContents(deps.db, ids)).map((row) => [row.id, row]))
    return ids.map((id) => found.get(id))
  }, LOAD_MAX)

  const loadSurely = async (id: string): Promise<EmailContent> => {
    const email = await load(id)
    if (!email) throw new Error(`email ${id} is gone`)
    return email
  }

  const prepare = async (email: EmailContent): Promise<Prepared> => {
    const { domain, keys } = await signers(email.domain_id, email.created_at)
    const mailFromDomain = `${MAIL_FROM_LABEL}.${domain}`
    const parts =
      email.heavy_bytes > 0
        ? await readHeavyParts(deps.db, email)
        : { html: email.html, text: email.text, attachments: [] }
    const input = toComposeInput(email, parts, deps.config.publicUrl, mailFromDomain)
    const options = keys.map((key) => ({ ...key, domain, date: email.created_at }))
    const tracker = await trackers(email, input)
    const plain = once(() => composeSigned(input, options, bodies))
    return {
      acceptedAt: email.created_at.getTime(),
      mailFromDomain,
      transactional: isTransactional(email),
      bytesFor: (deliveryId) =>
        tracker === null || deliveryId === null
          ? plain()
          : composeSigned(tracked(input, tracker, deliveryId), options, bodies, true),
    }
  }

  /** @throws NoHeavyPlace if the files have no room for it now */
  const needRoom = ({ workspace_id, heavy_bytes }: EmailContent) => {
    if (store.isFull(workspace_id, heavy_bytes)) {
      throw new NoHeavyPlace('too much large mail waits for its receivers')
    }
  }

  const composeHeavy = (email: EmailContent, deliveryId: number | null): Promise<Heavy> =>
    heavily(email.heavy_bytes, async () => {
      // Others may have taken the room while this one waited for its turn.
      needRoom(email)
      const { bytesFor, ...common } = await prepare(email)
      return { common, kept: await store.keep(await bytesFor(deliveryId), email.workspace_id) }
    })

  /** The message of a heavy email: shared with other deliveries under way, unless each has its own links. */
  async function holdHeavy(entry: Entry, email: EmailContent, deliveryId: number | null) {
    const isOwn = deliveryId !== null && (email.track_opens || email.track_clicks)
    for (;;) {
      if (isOwn || !entry.heavy) entry.heavy = composeHeavy(email, deliveryId)
      const making = entry.heavy
      const { common, kept } = await making.catch((err) => {
        if (entry.heavy === making) entry.heavy = undefined
        throw err
      })
      if (!kept.isGone()) return { common, ...kept.hold() }
      // The deliveries before have written it already.
      if (entry.heavy === making) entry.heavy = undefined
    }
  }

  const useHeavy = async <T>(
    [entry, email]: [Entry, EmailContent],
    work: (email: ComposedEmail) => Promise<T>,
    deliveryId: number | null,
    destination: string | null,
  ): Promise<T> => {
    needRoom(email)
    const giveBack = destination === null ? null : takePlace(email.workspace_id, destination)
    try {
      const { common, message, release } = await holdHeavy(entry, email, deliveryId)
      return await work({ ...common, message }).finally(release)
    } finally {
      giveBack?.()
    }
  }

  return async (emailId, work, deliveryId = null, destination = null) => {
    const entry: Entry = inUse.get(emailId) ?? {
      loaded: loadSurely(emailId),
      prepared: undefined,
      heavy: undefined,
      users: 0,
    }
    inUse.set(emailId, entry)
    entry.users += 1
    try {
      const email = await entry.loaded
      if (email.heavy_bytes > 0) {
        return await useHeavy([entry, email], work, deliveryId, destination)
      }
      entry.prepared ??= prepare(email)
      const { bytesFor, ...common } = await entry.prepared
      return await work({ ...common, message: await bytesFor(deliveryId) })
    } finally {
      entry.users -= 1
      if (entry.users === 0) inUse.delete(emailId)
    }
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The html with tracking; the text part stays that of the html without tracking. */
function tracked(input: ComposeInput, tracker: Tracker, deliveryId: number): ComposeInput {
  return { ...input, html: tracker.htmlFor(deliveryId), text: tracker.text }
}

function toComposeInput(
  email: EmailContent,
  { html, text, attachments }: Awaited<ReturnType<typeof readHeavyParts>>,
  publicUrl: string,
  mailFromDomain: string,
): ComposeInput {
  const token = isTransactional(email) ? null : email.unsubscribe_token
  return {
    id: email.id,
    from: mailbox(email.from),
    to: email.to.map(mailbox),
    cc: email.cc.map(mailbox),
    replyTo: email.reply_to.map(mailbox),
    subject: email.subject,
    html,
    text,
    date: email.created_at,
    messageId: email.message_id,
    headers: email.headers,
    attachments: attachments.map((part) => ({
      filename: part.filename,
      contentType: part.content_type,
      contentId: part.content_id,
      content: part.content,
    })),
    unsubscribe: token
      ? { url: `${publicUrl}/u/${token}`, mailto: unsubscribeMailbox(token, mailFromDomain) }
      : null,
    feedbackId: feedbackId(email),
    automatic: automaticOf(email),
  }
}

/** Addresses were parsed when the email was accepted. One that no longer parses must not be sent to. */
function mailbox(text: string) {
  const parsed = parseMailbox(text)
  if (!parsed) throw new Error('a stored address does not parse')
  return parsed
}
