// Mail of a workflow with a copy for a colleague, and mail to the team, as a mail server gets it.
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()
const PUBLIC_URL = 'https://links.mail.test'
const LINK = /https:\/\/links\.mail\.test(\/u\/[\w-]+)/

test('the copy unsubscribes nobody, the mail of the contact does; the team gets its own mail', async () => {
  const h = await createHarness(database, { env: { PUBLIC_URL } })
  await h.db.updateTable('domains').set({ click_tracking_enabled: true }).execute()
  const html =
    '<p><a href="https://shop.test/">Shop</a> <a href="{{ unsubscribe_url }}">Leave</a></p>'
  const graph = {
    ...design(
      {
        start: onEvent('ordered'),
        offer: mail('Offer', { html, cc: 'Ben <ben@sender.test>' }),
        report: mail('Report', { html, to: ['sales@sender.test', 'ben@sender.test'] }),
        end: ['exit', {}],
      },
      [
        ['start', 'offer'],
        ['offer', 'report'],
        ['report', 'end'],
      ],
    ),
  }
  const made = await h.request('POST', '/v1/workflows', {
    name: 'Offer',
    status: 'active',
    design: graph,
  })
  expect(made.status).toBe(201)
  await h.request('POST', '/v1/automation/events', {
    event_name: 'ordered',
    email: 'ada@example.test',
  })
  await eventually(() => expect(h.smtp.mails).toHaveLength(4))
  const read = async (to: string, subject: string) => {
    const parsed = await Promise.all(
      h.smtp.mailsTo(to).map(async ({ raw }) => ({
        raw: raw.toString(),
        parsed: await PostalMime.parse(raw),
      })),
    )
    const found = parsed.filter(({ parsed }) => parsed.subject === subject)
    expect(found).toHaveLength(1)
    const [{ raw, parsed: message } = { raw: '', parsed: null }] = found
    const header = (name: string) => message?.headers.find(({ key }) => key === name)?.value ?? null
    const link = LINK.exec(message?.html ?? '')?.[1] ?? ''
    return { raw, message, header, link }
  }
  const own = await read('ada@example.test', 'Offer')
  const copy = await read('ben@sender.test', 'Offer')
  for (const { message } of [own, copy]) {
    expect(message?.to).toMatchObject([{ address: 'ada@example.test' }])
    expect(message?.cc).toMatchObject([{ name: 'Ben', address: 'ben@sender.test' }])
  }
  expect(own.message?.messageId).toBe(copy.message?.messageId)
  expect(own.header('list-unsubscribe')).toContain(own.link)
  expect(copy.header('list-unsubscribe')).toBeNull()
  expect(copy.header('list-unsubscribe-post')).toBeNull()
  expect(copy.link).toBe('/u/copy')
  expect(copy.raw).not.toContain(own.link.slice('/u/'.length))

  const reports = [
    await read('sales@sender.test', 'Report'),
    await read('ben@sender.test', 'Report'),
  ]
  for (const { message, header, link } of reports) {
    expect(message?.to?.map(({ address }) => address)).toEqual([
      'sales@sender.test',
      'ben@sender.test',
    ])
    expect(header('list-unsubscribe')).toBeNull()
    expect(header('precedence')).toBeNull()
    expect(link).toBe('/u/copy')
  }

  const optOuts = () => h.db.selectFrom('opt_outs').select('id').execute()
  const follow = async (link: string, method: string) =>
    (await fetch(h.api.url + link, { method })).status
  expect(await follow(copy.link, 'GET')).toBe(200)
  expect(await follow(copy.link, 'POST')).toBe(200)
  expect(await optOuts()).toEqual([])
  expect(await follow(own.link, 'POST')).toBe(200)
  expect(await optOuts()).toHaveLength(1)

  // The colleague is no contact of it, and nothing of their mail is the contact's.
  await eventually(async () => {
    const events = await h.db
      .selectFrom('automation_events')
      .select(['email', 'event_name'])
      .where('event_name', 'like', 'email.%')
      .orderBy('event_name')
      .execute()
    expect(events.map(({ email, event_name }) => `${email} ${event_name}`)).toEqual([
      'ada@example.test email.delivered',
      'ada@example.test email.sent',
      'ada@example.test email.unsubscribed',
    ])
  })
})
