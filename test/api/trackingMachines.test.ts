// Opens and clicks of machines, which are stored but not shown, and how many events are stored.
import { describe, expect, it } from 'vitest'
import { clickToken, openToken } from '../../mail/tracking/tokens.ts'
import { bringTo } from '../setup/states.ts'
import { BROWSER, createTrackedApi, URLS } from '../setup/trackedMail.ts'

const { api, mac, clock, delivered, get, click, openPixel, stored, machines, shown } =
  await createTrackedApi()

describe('machines', () => {
  it.each([
    ['head', {}, 'HEAD'],
    ['prefetch', { 'sec-purpose': 'prefetch' }, 'GET'],
    ['mail_proxy', { 'user-agent': 'Mozilla/5.0' }, 'GET'],
    ['link_preview', { 'user-agent': 'Slackbot-LinkExpanding 1.0' }, 'GET'],
  ])('are stored with the reason %s and not shown', async (reason, headers, method) => {
    const mail = await delivered()
    expect((await openPixel(mail.deliveryId, headers, method)).status).toBe(200)
    const answer = await click(mail.deliveryId, 0, headers, method)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, URLS[0]])
    expect(await machines(mail.id)).toEqual([reason, reason])
    const { last, events } = await shown(mail.id)
    expect([last.status, events.length]).toEqual(['sent', 1])
  })

  it.each([
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
  ])('are not what fetches pictures when a person opens: %s', async (agent) => {
    const mail = await delivered()
    await openPixel(mail.deliveryId, { 'user-agent': agent })
    expect(await machines(mail.id)).toEqual([null])
    expect((await shown(mail.id)).last).toMatchObject({ status: 'opened', user_agent: agent })
    // Such a proxy follows no links for anybody.
    await click(mail.deliveryId, 0, { 'user-agent': agent })
    expect(await machines(mail.id)).toEqual([null, 'mail_proxy'])
  })

  it('are those within two seconds of the delivery, or before it', async () => {
    const mail = await delivered()
    clock.time -= 58_001
    await click(mail.deliveryId, 0)
    clock.time += 1
    await click(mail.deliveryId, 1)
    expect(await machines(mail.id)).toEqual(['too_soon', null])
    const early = await delivered()
    await bringTo(api.db, { ids: [early.deliveryId] }, 'data_sent', new Date(clock.time))
    await openPixel(early.deliveryId)
    expect(await machines(early.id)).toEqual(['too_soon'])
  })

  it('are those that follow three links within a second: all three clicks are marked', async () => {
    const mail = await delivered()
    await click(mail.deliveryId, 3)
    clock.time += 20_000
    for (const index of [0, 1]) await click(mail.deliveryId, index)
    clock.time += 500
    await click(mail.deliveryId, 2)
    expect(await machines(mail.id)).toEqual([null, 'burst', 'burst', 'burst'])
    expect((await shown(mail.id)).last).toMatchObject({ link: URLS[3] })
  })

  it('are recognised also in concurrent requests', async () => {
    const mail = await delivered()
    await Promise.all([0, 1, 2, 3].map((index) => click(mail.deliveryId, index)))
    expect(await machines(mail.id)).toEqual(['burst', 'burst', 'burst', 'burst'])
  })
})

describe('what is stored', () => {
  it('is one event for repetitions within ten seconds, also for concurrent ones', async () => {
    const mail = await delivered()
    await Promise.all(Array.from({ length: 6 }, () => click(mail.deliveryId, 0)))
    await openPixel(mail.deliveryId)
    await openPixel(mail.deliveryId)
    await click(mail.deliveryId, 0, {}, 'HEAD')
    expect(await machines(mail.id)).toEqual([null, null, 'head'])
    clock.time += 10_000
    await click(mail.deliveryId, 0)
    expect(await machines(mail.id)).toHaveLength(4)
  })

  it('is at most a thousand events for each recipient; links still lead to their targets', async () => {
    const mail = await delivered()
    const row = { email_id: mail.id, workspace_id: api.workspaceId, recipient: mail.to }
    await api.db
      .insertInto('email_events')
      .values(
        Array.from({ length: 999 }, (_, i) => ({
          ...row,
          status: 'opened' as const,
          at: new Date(clock.time - 100_000 - i),
          data: '{}',
          machine: 'head',
        })),
      )
      .execute()
    for (const index of [0, 1]) {
      expect((await click(mail.deliveryId, index)).headers.get('location')).not.toBeNull()
    }
    expect(await stored(mail.id)).toHaveLength(1000)
  })

  it('has the client address from trusted proxies, and a user agent of bounded length', async () => {
    const mail = await delivered()
    await api.app.request(
      `/t/o/${openToken(mac, mail.deliveryId)}`,
      { headers: { 'user-agent': `${BROWSER}${'x'.repeat(9000)}`, 'x-forwarded-for': '1.2.3.4' } },
      { incoming: { socket: { remoteAddress: '::ffff:10.0.0.1' } } },
    )
    const [event] = await stored(mail.id)
    expect(event?.data).toEqual({
      ip: '1.2.3.4',
      user_agent: `${BROWSER}${'x'.repeat(9000)}`.slice(0, 512),
    })
    await get(`/t/c/${clickToken(mac, mail.deliveryId, 0)}`, { 'x-forwarded-for': '1.2.3.4' })
    expect((await stored(mail.id))[1]?.data).toMatchObject({ ip: '198.51.100.7' })
  })
})
