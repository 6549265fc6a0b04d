// Mail that came as a whole message: what each recipient gets of it.
import type { EmailContent } from '../../db/emails/contents.ts'
import { readSource } from '../../db/emails/sources.ts'
import { octetsOf, signCarried } from '../../mail/carried/sign.ts'
import { openHtml } from '../../mail/carried/trackable.ts'
import type { DkimOptions } from '../../mail/dkim/sign.ts'
import { feedbackId } from '../../rules/mail/classes.ts'
import type { Watched } from '../../rules/watched.ts'
import type { DeliveryDeps } from '../deps.ts'
import type { ReaderOf } from './composeInput.ts'
import type { createTrackers } from './trackers.ts'

/**
 * Reads the message, and finds its links if they are tracked. `bytesFor` signs it: the same bytes for all recipients, unless
 * each has links of their own.
 */
export async function prepareCarried(
  { db, trackers }: Pick<DeliveryDeps, 'db'> & { trackers: ReturnType<typeof createTrackers> },
  email: EmailContent,
  signing: readonly DkimOptions[],
  watched: Watched,
) {
  const source = email.source ?? (await readSource(db, email.id))
  const isTracked = email.track_opens || email.track_clicks
  const opened = isTracked ? watched(() => openHtml(source)) : null
  // Of a link that is bytes of another character set nobody knows where it leads.
  const mayTrack = (url: string) => !opened?.isBytes || /^[\x20-\x7e]*$/.test(url)
  const tracker = opened
    ? await trackers(email, { html: opened.html, text: '' }, watched, mayTrack)
    : null
  let forAll: Promise<Buffer> | undefined
  return {
    octets: watched(() => octetsOf(source)),
    bytesFor(delivery: ReaderOf | null, watched: Watched): Promise<Buffer> {
      if (opened && tracker && delivery) {
        const own = watched(() => opened.withHtml(tracker.htmlFor(delivery.id)))
        return signCarried(own, feedbackId(email), signing, watched)
      }
      forAll ??= signCarried(source, feedbackId(email), signing, watched)
      return forAll
    },
  }
}
