// Tracked emails: makes the html of each delivery with its own pixel and links. The link targets are stored
// beforehand.
import { transact } from '../../commands/transact.ts'
import type { EmailContent } from '../../db/emails/contents.ts'
import type { NewRow } from '../../db/schema.ts'
import { insertEmailLinks } from '../../db/tracking/writes.ts'
import type { ComposeInput } from '../../mail/compose/input.ts'
import { textInTurns } from '../../mail/content/text.ts'
import { ownUrlRule } from '../../mail/tracking/ownUrls.ts'
import { applyTracking, planTracking } from '../../mail/tracking/rewrite.ts'
import { clickToken, openToken } from '../../mail/tracking/tokens.ts'
import type { Watched } from '../../rules/watched.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import type { DeliveryDeps } from '../deps.ts'
import { writeGroupOrEach } from '../writeGroupOrEach.ts'

export interface Tracker {
  htmlFor: (deliveryId: number) => string
  text: string
}

const INSERT_MAX = 100
/** Longer html is sent without tracking: finding its links would delay all other mail. */
const HTML_CHARS_MAX = 2 * 1024 * 1024

/**
 * Makes a function that finds the links of an email and commits them. It returns null for an email that is not
 * tracked: tracking is off, there is no html, or the html is longer than `HTML_CHARS_MAX`.
 */
export function createTrackers(deps: Pick<DeliveryDeps, 'db' | 'wake' | 'config' | 'secrets'>) {
  const { config, secrets } = deps
  const mac = secrets.mac('tracking')
  const writeAll = createBatcher(
    (rows: NewRow<'email_links'>[]) =>
      writeGroupOrEach(rows, (some) => transact.one(deps, ({ db }) => insertEmailLinks(db, some))),
    INSERT_MAX,
  )
  const store = async (row: NewRow<'email_links'>) => {
    const fault = await writeAll(row)
    if (fault !== undefined) throw fault
  }

  return async (
    email: EmailContent,
    { html, text }: Pick<ComposeInput, 'html' | 'text'>,
    watched: Watched,
    mayTrack: (url: string) => boolean = () => true,
  ): Promise<Tracker | null> => {
    const { track_opens: opens, track_clicks: clicks, tracking_host } = email
    if (!html || html.length > HTML_CHARS_MAX || (!opens && !clicks)) return null
    const base = tracking_host === null ? config.publicUrl : `https://${tracking_host}`
    const isOwn = ownUrlRule({
      publicUrl: config.publicUrl,
      trackingHost: tracking_host,
      leaveToken: email.unsubscribe_token,
    })
    const isOwnUrl = (url: string) => !mayTrack(url) || isOwn(url)
    const plan = watched(() => planTracking(html, { opens, clicks, isOwnUrl }))
    if (plan.urls.length > 0) await store({ email_id: email.id, urls: plan.urls })
    return {
      text: text ?? (await textInTurns(html, watched)),
      htmlFor: (deliveryId) =>
        applyTracking(plan, {
          openUrl: `${base}/t/o/${openToken(mac, deliveryId)}`,
          clickUrl: (index) => `${base}/t/c/${clickToken(mac, deliveryId, index)}`,
        }),
    }
  }
}
