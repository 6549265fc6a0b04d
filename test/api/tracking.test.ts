// Pixels and tracked links: their targets, what the API shows, and the events of contacts.

import { describe, expect, it } from 'vitest'
import { clickToken, openToken } from '../../mail/tracking/tokens.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { tellAll } from '../setup/mailEvents.ts'
import { tableCounts } from '../setup/tableCounts.ts'
import { BROWSER, createTrackedApi, storeLinks, URLS } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const { api, mac, delivered, get, click, openPixel, shown } = await createTrackedApi()
const { create } = createWorkflowClient(api)

describe('a link', () => {
  it('leads to its target, and the click is shown', async () => {
    const mail = await delivered()
    const answer = await click(mail.deliveryId, 0)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, URLS[0]])
    expect(answer.headers.get('cache-control')).toContain('no-store')
    expect(answer.headers.get('set-cookie')).toBeNull()
    const seen = { link: URLS[0], user_agent: BROWSER, ip: '198.51.100.7' }
    const { last, events } = await shown(mail.id)
    expect(last).toMatchObject({ status: 'clicked', ...seen })
    expect(events.map((event) => event.status)).toEqual(['sent', 'clicked'])
    expect(events[1]).toMatchObject(seen)
  })

  it('is escaped if a header cannot hold it, otherwise as it was written', async () => {
    const { deliveryId } = await delivered([...URLS, 'https://x.test/\r\nSet-Cookie: a=b'])
    const locations = []
    for (const index of [0, 1, 2, 3, 4]) {
      locations.push((await click(deliveryId, index)).headers.get('location'))
    }
    expect(locations).toEqual([
      URLS[0],
      'https://y.test/%C3%BC?q=%F0%9F%98%80',
      'https://z.test',
      'http://w.test/',
      'https://x.test/Set-Cookie:%20a=b',
    ])
  })

  it('leads to its own target even if the request names another one', async () => {
    const { deliveryId } = await delivered()
    const path = `/t/c/${clickToken(mac, deliveryId, 0)}`
    for (const more of ['?url=https://evil.test', '?u=//evil.test', '#https://evil.test']) {
      expect((await get(path + more)).headers.get('location')).toBe(URLS[0])
    }
    expect((await get(path, { host: 'evil.test' })).headers.get('location')).toBe(URLS[0])
  })

  it('with a forged token, of no email, or beyond its links is a 404 page and records nothing', async () => {
    const { deliveryId } = await delivered()
    const before = await tableCounts(api)
    for (const token of [
      clickToken(createSecrets(Buffer.alloc(32)).mac('tracking'), deliveryId, 0),
      clickToken(mac, deliveryId, URLS.length),
      clickToken(mac, 2 ** 40, 0),
      openToken(mac, deliveryId),
      `${clickToken(mac, deliveryId, 0)}A`,
      'x',
      '%00',
      '..%2f..%2fetc',
      'a'.repeat(5000),
    ]) {
      const answer = await get(`/t/c/${token}`)
      expect([token, answer.status, answer.headers.get('location')]).toEqual([token, 404, null])
      expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
    }
    expect(await tableCounts(api)).toEqual(before)
  })

  it('keeps the targets of the sent email', async () => {
    const mail = await delivered()
    await storeLinks(api.deps, [{ email_id: mail.id, urls: ['https://evil.test/'] }])
    expect((await click(mail.deliveryId, 0)).headers.get('location')).toBe(URLS[0])
  })
})

describe('the pixel', () => {
  it('is a picture that must not be cached, and the open is shown', async () => {
    const mail = await delivered()
    const answer = await openPixel(mail.deliveryId)
    expect(answer.headers.get('content-type')).toBe('image/gif')
    expect(answer.headers.get('cache-control')).toContain('no-store')
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1', 0, 6)).toBe('GIF89a')
    const seen = { user_agent: BROWSER, ip: '198.51.100.7' }
    expect((await shown(mail.id)).last).toMatchObject({ status: 'opened', ...seen })
  })

  it('is the same picture for every token, and records nothing for a wrong one', async () => {
    const { deliveryId } = await delivered()
    const before = await tableCounts(api)
    for (const token of [
      openToken(createSecrets(Buffer.alloc(32)).mac('tracking'), deliveryId),
      openToken(mac, 2 ** 40),
      'x',
    ]) {
      const answer = await get(`/t/o/${token}`)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/gif'])
    }
    expect(await tableCounts(api)).toEqual(before)
  })
})

describe('the contact', () => {
  it('gets events only for opens and clicks of people, and they start workflows', async () => {
    const email = `${uniqueName('c')}@example.test`
    await api.request('POST', '/v1/automation/events', { event_name: 'signed_up', email })
    const design = exitDesign('email.clicked')
    const { workflow_id } = await create({ status: 'active', design })
    const mail = await delivered(URLS, email)
    api.woken.length = 0
    await click(mail.deliveryId, 0, {}, 'HEAD')
    await openPixel(mail.deliveryId, { 'user-agent': 'curl/8' })
    expect(api.woken).toEqual([])
    await openPixel(mail.deliveryId)
    await click(mail.deliveryId, 0)
    expect(new Set(api.woken)).toEqual(new Set(['dripline_mail_events']))
    api.woken.length = 0
    await tellAll(api.deps)
    expect(api.woken).toEqual(['dripline_outbox'])
    const { body } = await api.request<{
      events: { event_name: string; properties: { link?: string } }[]
    }>('GET', `/v1/automation/contacts/${email}/events`)
    const heard = body.events.filter(({ event_name }) => /opened|clicked/.test(event_name))
    expect(heard.map(({ event_name }) => event_name).sort()).toEqual([
      'email.clicked',
      'email.opened',
    ])
    expect(heard.find((event) => event.event_name === 'email.clicked')?.properties).toMatchObject({
      email_id: mail.id,
      link: URLS[0],
    })
    const started = await api.db
      .selectFrom('executions')
      .select('workflow_id')
      .where('email', '=', email)
      .execute()
    expect(started).toEqual([{ workflow_id }])
  })
})
