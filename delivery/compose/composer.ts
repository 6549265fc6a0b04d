// Loads, composes and signs emails. Deliveries of one email that are under way together share the work.
// Long because the ways to a message, heavy or not, share what is in use of an email.
import {
  type EmailContent,
  isTransactional,
  listEmailContents,
  readHeavyParts,
} from '../../db/emails/contents.ts'
import { suspectDeliveryId } from '../../db/suspects/writes.ts'
import type { Octets } from '../../mail/carried/sign.ts'
import { createBodies } from '../../mail/compose/bodyCache.ts'
import type { ComposeInput } from '../../mail/compose/input.ts'
import { composeSigned } from '../../mail/compose/mime.ts'
import type { Message } from '../../mail/transport.ts'
import { MAIL_FROM_LABEL } from '../../rules/mail/domainRecords.ts'
import { isGivenUp } from '../../rules/suspects.ts'
import type { Watched } from '../../rules/watched.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import { createFairBudget } from '../../runtime/fairBudget.ts'
import { createFewInATurn } from '../../runtime/fewInATurn.ts'
import type { DeliveryDeps } from '../deps.ts'
import { prepareCarried } from './carried.ts'
import { type ReaderOf, toComposeInput, tracked, untracked } from './composeInput.ts'
import { createHeavyPlaces, NoHeavyPlace } from './heavyPlaces.ts'
import { createMailGuard, GivenUp, type MailWork } from './mailGuard.ts'
import { createMessageStore, type KeptMessage } from './messageStore.ts'
import { createSigners } from './signers.ts'
import { createTrackers } from './trackers.ts'

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
  /** What a server must offer to take it. */
  octets?: Octets
  /**
   * Runs the work that reads the reply to this delivery, which may end the worker, too.
   * @throws NotAlone if the reply cannot be read now
   */
  readReply: <T>(work: () => T) => Promise<T>
}

/** What the recipients of an email have in common. */
interface Prepared {
  common: Common
  bytesFor: (delivery: ReaderOf | null, watched: Watched) => Promise<Buffer>
}

type Common = Omit<ComposedEmail, 'message' | 'readReply'>

/**
 * Runs work with a composed email.
 * @param delivery null: without tracking
 * @param destination where it goes, for the bounds on mail with attachments; null: without those
 * @throws NoHeavyPlace if too much such mail is under way; NotAlone if it is a suspect that found no moment; GivenUp
 */
export type UseEmail = <T>(
  emailId: string,
  work: (email: ComposedEmail) => Promise<T>,
  delivery?: ReaderOf | null,
  destination?: string | null,
) => Promise<T>

/** A composed email with attachments or long bodies. */
interface Heavy {
  common: Common
  kept: KeptMessage
}

interface Entry {
  loaded: Promise<EmailContent> | undefined
  prepared: Promise<Prepared> | undefined
  heavy: Promise<Heavy> | undefined
  users: number
}

const LOAD_MAX = 100
/**
 * Mails that are composed in one turn of the event loop. A claim brings dozens at once, and the connections would wait for all of
 * them to be composed before the next mark, dot or reply.
 */
const IN_A_TURN = 4
/**
 * Bytes of long bodies and attachments of emails that are composed at a time, which takes about three times their size.
 * They are given back as soon as the message is kept (messageStore.ts), so that nobody waits for a receiver here.
 */
const HEAVY_BYTES_MAX = 64 * 1024 * 1024

/**
 * Makes a function that runs `work` with the bytes of an email. They are dropped when the last delivery of the
 * email is done. The links and the pixel of a tracked email differ for each delivery; its links are committed
 * before `work` begins. Copies for the team are without the links to unsubscribe.
 * @param store keeps large messages; tests alone give one
 */
export function createComposer(
  deps: Pick<DeliveryDeps, 'db' | 'wake' | 'config' | 'now' | 'secrets' | 'blame'>,
  store = createMessageStore(deps.config.stateFolder),
): UseEmail {
  const signers = createSigners(deps)
  const trackers = createTrackers(deps)
  const bodies = createBodies()
  const guard = createMailGuard(deps)
  const heavily = createFairBudget({
    bytesMax: HEAVY_BYTES_MAX,
    ownerBytesMax: HEAVY_BYTES_MAX / 2,
  })
  const takePlace = createHeavyPlaces()
  const turn = createFewInATurn(IN_A_TURN)
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

  const prepare = async (email: EmailContent, watched: Watched): Promise<Prepared> => {
    const { domain, keys } = await signers(email.domain_id, email.created_at)
    const mailFromDomain = `${MAIL_FROM_LABEL}.${domain}`
    const signing = keys.map((key) => ({ ...key, domain, date: email.created_at }))
    const acceptedAt = email.created_at.getTime()
    const common = { acceptedAt, mailFromDomain, transactional: isTransactional(email) }
    if (email.source_bytes !== null) {
      const carried = await prepareCarried({ ...deps, trackers }, email, signing, watched)
      return { common: { ...common, octets: carried.octets }, bytesFor: carried.bytesFor }
    }
    const parts =
      email.heavy_bytes > 0
        ? await readHeavyParts(deps.db, email)
        : { html: email.html, text: email.text, attachments: [] }
    let made: ComposeInput | undefined
    const input = () => {
      made ??= toComposeInput(email, parts, deps.config.publicUrl, mailFromDomain)
      return made
    }
    const isTracked = email.track_opens || email.track_clicks
    const tracker = isTracked ? await trackers(email, watched(input), watched) : null
    const plain: { team?: Promise<Buffer>; others?: Promise<Buffer> } = {}
    return {
      common,
      bytesFor(delivery, watched) {
        if (tracker === null || delivery === null) {
          const all = delivery?.to_team ? 'team' : 'others'
          plain[all] ??= watched(() =>
            composeSigned(untracked(input(), email, delivery), signing, bodies, { watched }),
          )
          return plain[all]
        }
        return watched(() => {
          const own = tracked(input(), email, tracker, delivery)
          return composeSigned(own, signing, bodies, { once: true, watched })
        })
      },
    }
  }

  /** @throws NoHeavyPlace if the files have no room for it now */
  const needRoom = ({ workspace_id, heavy_bytes }: EmailContent) => {
    if (store.isFull(workspace_id, heavy_bytes)) {
      throw new NoHeavyPlace('too much large mail waits for its receivers')
    }
  }

  const composeHeavy = (email: EmailContent, delivery: ReaderOf | null): Promise<Heavy> =>
    heavily(email.workspace_id, email.heavy_bytes, async () => {
      // Others may have taken the room while this one waited for its turn.
      needRoom(email)
      const { common, bytes } = await guard(composingOf(email), async (watched) => {
        const { bytesFor, common } = await prepare(email, watched)
        return { common, bytes: await bytesFor(delivery, watched) }
      })
      // After the guard: where that fails at its end nobody would let the message go.
      return { common, kept: await store.keep(bytes, email.workspace_id) }
    })

  /** The message of a heavy email: shared with other deliveries under way, unless each has its own links, or it is a copy. */
  async function holdHeavy(entry: Entry, email: EmailContent, delivery: ReaderOf | null) {
    const isTracked = email.track_opens || email.track_clicks
    const isOwn = delivery !== null && (isTracked || delivery.to_team)
    if (isOwn) {
      const { common, kept } = await composeHeavy(email, delivery)
      return { common, ...kept.hold() }
    }
    for (;;) {
      entry.heavy ??= composeHeavy(email, delivery)
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

  /** Runs work with a heavy email. */
  const useHeavy = async <T>(
    [entry, email]: [Entry, EmailContent],
    work: (common: Common, message: Message) => Promise<T>,
    delivery: ReaderOf | null,
    destination: string | null,
  ): Promise<T> => {
    needRoom(email)
    const giveBack = destination === null ? null : takePlace(email.workspace_id, destination)
    try {
      const { common, message, release } = await holdHeavy(entry, email, delivery)
      return await work(common, message).finally(release)
    } finally {
      giveBack?.()
    }
  }

  const compose = async (entry: Entry, email: EmailContent, delivery: ReaderOf | null) => {
    await turn()
    return guard(composingOf(email), async (watched) => {
      entry.prepared ??= prepare(email, watched)
      const preparing = entry.prepared
      try {
        const { bytesFor, common } = await preparing
        return { common, message: await bytesFor(delivery, watched) }
      } catch (err) {
        if (entry.prepared === preparing) entry.prepared = undefined
        throw err
      }
    })
  }

  return async (emailId, work, delivery = null, destination = null) => {
    const entry: Entry = inUse.get(emailId) ?? {
      loaded: undefined,
      prepared: undefined,
      heavy: undefined,
      users: 0,
    }
    inUse.set(emailId, entry)
    entry.users += 1
    entry.loaded ??= loadSurely(emailId)
    const { loaded } = entry
    /** Whether it is a suspect may have changed: the next delivery asks again. */
    const loadAgain = () => {
      if (entry.loaded === loaded) entry.loaded = undefined
    }
    try {
      const email = await loaded
      const reply = replyOf(email, delivery?.id ?? 0)
      if (isGivenUp(reply.deaths)) throw new GivenUp(reply)
      const readReply = <R>(read: () => R) => guard(reply, async (watched) => watched(read))
      const send = (common: Common, message: Message) => work({ ...common, message, readReply })
      if (email.heavy_bytes > 0) {
        return await useHeavy([entry, email], send, delivery, destination)
      }
      const { common, message } = await compose(entry, email, delivery)
      if (email.suspect_deaths !== null) loadAgain()
      return await send(common, message)
    } catch (err) {
      loadAgain()
      throw err
    } finally {
      entry.users -= 1
      if (entry.users === 0) inUse.delete(emailId)
    }
  }
}

const composingOf = ({ id, suspect_deaths }: EmailContent): MailWork => ({
  kind: 'email',
  id,
  deaths: suspect_deaths,
})

function replyOf({ id, suspect_deliveries }: EmailContent, deliveryId: number): MailWork {
  const name = suspectDeliveryId(id, deliveryId)
  return { kind: 'delivery', id: name, deaths: suspect_deliveries?.[name] ?? null }
}
