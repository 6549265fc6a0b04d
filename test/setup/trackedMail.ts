// Delivered emails with tracked links, visits with a browser, and the stored and shown events.
import { transact } from '../../commands/transact.ts'
import type { NewRow } from '../../db/schema.ts'
import { insertEmailLinks } from '../../db/tracking/writes.ts'
import { clickToken, openToken } from '../../mail/tracking/tokens.ts'
import { createTestApi, insertTestDomain } from './api.ts'
import { bringTo } from './states.ts'
import { uniqueName } from './unique.ts'

export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
export const URLS = [
  'https://x.test/?a=1&b=2#top',
  'https://y.test/ü?q=😀',
  'https://z.test',
  'http://w.test/',
]

/** Stores the link targets of emails, like a lane before it sends them. */
export function storeLinks(
  deps: Parameters<typeof transact.one>[0],
  rows: NewRow<'email_links'>[],
): Promise<void> {
  return transact.one(deps, ({ db }) => insertEmailLinks(db, rows))
}

/**
 * Makes an API behind trusted proxies of 10.0.0.0/8, with the domain `sender.test`. Its `clock` only moves when
 * the test moves it.
 */
export async function createTrackedApi() {
  const clock = { time: Date.now() }
  const api = await createTestApi({
    now: () => new Date(clock.time),
    env: { TRUSTED_PROXIES: '10.0.0.0/8' },
  })
  const mac = api.deps.secrets.mac('tracking')
  await insertTestDomain(api, 'sender.test')

  /** Inserts an email that was delivered a minute ago. */
  async function delivered(urls = URLS, to = `${uniqueName('r')}@example.test`) {
    const { body } = await api.request<{ id: string }>('POST', '/v1/emails', {
      from: 'a@sender.test',
      to,
      subject: 'Hello',
      html: '<p>x</p>',
    })
    const [deliveryId] = await bringTo(
      api.db,
      { emailId: body.id },
      'delivered',
      new Date(clock.time),
    )
    if (deliveryId === undefined) throw new Error('the mail has no delivery')
    await storeLinks(api.deps, [{ email_id: body.id, urls }])
    clock.time += 60_000
    return { id: body.id, to, deliveryId }
  }

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    api.app.request(
      path,
      { method, headers: { 'user-agent': BROWSER, ...headers } },
      { incoming: { socket: { remoteAddress: '198.51.100.7' } } },
    )
  const click = (deliveryId: number, index: number, headers = {}, method = 'GET') =>
    get(`/t/c/${clickToken(mac, deliveryId, index)}`, headers, method)
  const openPixel = (deliveryId: number, headers = {}, method = 'GET') =>
    get(`/t/o/${openToken(mac, deliveryId)}`, headers, method)

  const stored = (id: string) =>
    api.db
      .selectFrom('email_events')
      .select(['status', 'machine', 'data'])
      .where('email_id', '=', id)
      .where('status', 'in', ['opened', 'clicked'])
      .orderBy('id')
      .execute()
  const machines = async (id: string) => (await stored(id)).map(({ machine }) => machine)
  async function shown(id: string) {
    type Event = { status: string }
    const { body } = await api.request<{
      last_event: Event
      recipient_statuses: { events: Event[] }[]
    }>('GET', `/v1/emails/${id}`)
    return { last: body.last_event, events: body.recipient_statuses[0]?.events ?? [] }
  }

  return { api, mac, clock, delivered, get, click, openPixel, stored, machines, shown }
}
