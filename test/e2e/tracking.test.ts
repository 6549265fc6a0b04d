// Tracked mail of the real service: signed, with links that lead to their targets, and clicks that end a wait.
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()
const PUBLIC_URL = 'https://links.mail.test'
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const TRACKED = /https:\/\/links\.mail\.test\/t\/c\/[\w-]{34}/g
const PIXEL = /<img src="(https:\/\/links\.mail\.test\/t\/o\/[\w-]{31})"[^>]*>/

type Harness = Awaited<ReturnType<typeof createHarness>>

const htmlOf = async (raw: Buffer) => (await PostalMime.parse(raw)).html?.trim() ?? ''

/** Follows a tracked link at the API's address, but not its redirect. */
const follow = (h: Harness, link: string, method = 'GET') =>
  fetch(h.api.url + link.slice(PUBLIC_URL.length), {
    method,
    redirect: 'manual',
    headers: { 'user-agent': BROWSER },
  })

const trackAll = ({ db }: Harness) =>
  db
    .updateTable('domains')
    .set({ open_tracking_enabled: true, click_tracking_enabled: true })
    .execute()

test('a tracked email is signed, differs only in its links, and its clicks are shown', async () => {
  const h = await createHarness(database, { env: { PUBLIC_URL } })
  await trackAll(h)
  const links = [
    ['https://x.test/?a=1&amp;b=%2F2#top', 'https://x.test/?a=1&b=%2F2#top'],
    ['https://y.test/%C3%BC;v=1?q=a+b', 'https://y.test/%C3%BC;v=1?q=a+b'],
    ['http://z.test', 'http://z.test'],
    ['https://ü.test/§?q=😀', 'https://xn--tda.test/%C2%A7?q=%F0%9F%98%80'],
  ] as const
  const html = `<html><body>Grüße ${links.map(([href]) => `<a href='${href}'>x</a>`).join(' ')} <a href="mailto:a@x.test">y</a></body></html>`
  const sent = await h.request<{ id: string }>('POST', '/v1/emails', {
    from: 'a@sender.test',
    to: ['one@example.test', 'two@example.test'],
    subject: 'Hello',
    html,
  })
  await eventually(() => expect(h.smtp.mails).toHaveLength(2))
  const found = []
  for (const { raw } of h.smtp.mails) {
    const { results } = await dkimVerify(raw, {
      resolver: async () => [[`v=DKIM1; k=rsa; p=${h.publicKey}`]],
    })
    expect(results.map((result) => result.status.result)).toEqual(['pass'])
    const received = await htmlOf(raw)
    const tracked = received.match(TRACKED) ?? []
    expect(tracked).toHaveLength(links.length)
    let place = 0
    const undone = received.replace(PIXEL, '').replace(TRACKED, () => links[place++]?.[0] ?? '')
    expect(undone).toBe(html)
    // HEAD redirects too, and does not count as a click of a person.
    for (const [i, link] of tracked.entries()) {
      const answer = await follow(h, link, 'HEAD')
      expect([answer.status, answer.headers.get('location')]).toEqual([302, links[i]?.[1]])
    }
    found.push({ tracked, pixel: PIXEL.exec(received)?.[1] ?? '' })
  }
  const [one, two] = found
  expect(new Set([...(one?.tracked ?? []), ...(two?.tracked ?? [])]).size).toBe(2 * links.length)

  type Event = Record<string, unknown> & { status: string }
  const read = async () => {
    const { body } = await h.request<{
      recipient_statuses: { recipient: string; events: Event[] }[]
    }>('GET', `/v1/emails/${sent.body.id}`)
    return new Map(body.recipient_statuses.map((row) => [row.recipient, row.events]))
  }
  // A click in the first two seconds is a machine's; a later one is shown once.
  const first = h.smtp.mails[0]?.to[0] ?? ''
  const seen = { user_agent: BROWSER, ip: '127.0.0.1' }
  await eventually(async () => {
    await follow(h, one?.tracked[0] ?? '')
    expect((await read()).get(first)?.at(-1)).toMatchObject({
      status: 'clicked',
      link: links[0][1],
      ...seen,
    })
  })
  expect((await follow(h, one?.pixel ?? '')).headers.get('content-type')).toBe('image/gif')
  const events = await read()
  const statuses = events.get(first)?.map((event) => event.status)
  expect(statuses).toEqual(['sent', 'delivered', 'clicked', 'opened'])
  expect(events.get(first)?.at(-1)).toMatchObject({ status: 'opened', ...seen })
  const other = first.startsWith('one') ? 'two@example.test' : 'one@example.test'
  expect(events.get(other)?.map((event) => event.status)).toEqual(['sent', 'delivered'])
})

test('a click ends the wait for it; the unsubscribe link is never tracked', async () => {
  const h = await createHarness(database, { env: { PUBLIC_URL } })
  await trackAll(h)
  const body = '<a href="https://x.test/">x</a> <a href="{{ unsubscribe_url }}">Leave</a>'
  await insertFlow(
    h.db,
    h,
    design(
      {
        start: onEvent('joined'),
        hello: mail('Hello', { html: body }),
        wait: ['wait_for_event', { event_name: 'email.clicked', timeout: 'P3D' }],
        thanks: mail('Thanks'),
        end: ['exit', {}],
      },
      [
        ['start', 'hello'],
        ['hello', 'wait'],
        ['wait', 'thanks', 'received'],
        ['wait', 'end', 'timeout'],
        ['thanks', 'end'],
      ],
    ),
  )
  const email = 'ada@example.test'
  const event = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', {
    event_name: 'joined',
    email,
  })
  const [id] = event.body.executions
  await eventually(async () => {
    const { body: execution } = await h.request('GET', `/v1/executions/${id}`)
    expect(execution['status']).toBe('WAITING')
    expect(h.smtp.mailsTo(email)).toHaveLength(1)
  })
  const received = await htmlOf(h.smtp.mailsTo(email)[0]?.raw ?? Buffer.alloc(0))
  expect(received).toMatch(/<a href="https:\/\/links\.mail\.test\/u\/[\w-]{22}">Leave<\/a>/)
  const [link = ''] = received.match(TRACKED) ?? []
  await eventually(async () => {
    expect((await follow(h, link)).headers.get('location')).toBe('https://x.test/')
    expect(h.smtp.mailsTo(email)).toHaveLength(2)
  })
  await eventually(async () => {
    const { body: execution } = await h.request('GET', `/v1/executions/${id}`)
    expect(execution['status']).toBe('COMPLETED')
  })
})
