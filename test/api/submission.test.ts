// Mail that is submitted by SMTP: what is committed, and what is read back.
import { createTransport } from 'nodemailer'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSource } from '../../db/emails/sources.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { idOf, logIn, messageOf, sendOn, startTestSubmission, submit } from '../setup/submission.ts'
import { connectInbound } from '../unit/inbound/client.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const server = await startTestSubmission(api)
const send = (message: string, to?: string | string[]) => submit(server.port, api.key, message, to)

interface Email {
  from: string
  to: string[]
  subject: string
  html: string
  text: string
  cc: string[]
  bcc: string[]
  reply_to: string[]
  tags: object
  metadata: object
  headers: object
  recipient_statuses: { recipient: string }[]
}
const read = async (id: string) =>
  (await api.request<Email>('GET', `/v1/emails/${id}?expand=details`)).body

describe('what is taken', () => {
  test('nodemailer’s mail is committed and read back: To as its header, recipients as the envelope', async () => {
    const client = createTransport({
      host: '127.0.0.1',
      port: server.port,
      auth: { user: 'anybody', pass: api.key },
    })
    onTestFinished(() => client.close())
    const sent = await client.sendMail({
      from: 'Jörg <hello@sender.test>',
      to: ['Ada <ada@example.test>', 'grace@example.test'],
      cc: 'charles@example.test',
      bcc: 'quiet@example.test',
      replyTo: 'support@sender.test',
      subject: 'Grüße',
      html: '<p>Hällo</p>',
      text: 'Hällo',
      attachments: [{ filename: 'a.txt', content: 'attached' }],
      headers: {
        'X-Entity': '42',
        'X-Dripline-Options': JSON.stringify({
          tags: { kind: 'invoice' },
          metadata: { order: 'für 42', nested: { much: 'x'.repeat(100) } },
        }),
      },
    })
    const id = idOf(sent.response)
    const email = await read(id)
    expect(email).toMatchObject({
      from: 'Jörg <hello@sender.test>',
      to: ['Ada <ada@example.test>', 'grace@example.test'],
      cc: ['charles@example.test'],
      bcc: ['quiet@example.test'],
      reply_to: ['support@sender.test'],
      subject: 'Grüße',
      html: '<p>Hällo</p>',
      tags: { kind: 'invoice' },
      metadata: { order: 'für 42', nested: { much: 'x'.repeat(100) } },
      headers: { 'X-Entity': '42' },
    })
    expect(email.text.trim()).toBe('Hällo')
    expect(email.recipient_statuses.map(({ recipient }) => recipient).sort()).toEqual([
      'ada@example.test',
      'charles@example.test',
      'grace@example.test',
      'quiet@example.test',
    ])
  })

  test('the source is what was written, but for what is removed and added', async () => {
    const forged = {
      Bcc: 'quiet@example.test',
      'Return-Path': '<x@other.test>',
      'DKIM-Signature': 'v=1; d=other.test',
      'Feedback-ID': 'mine',
      'Authentication-Results': 'mx; dkim=pass',
      Sender: 'boss@other.test',
      'Resent-From': 'boss@other.test',
      Received: 'from app by mail; Mon, 1 Jan 2024 00:00:00 +0000',
      'X-Odd': ' two  spaces\r\n\tand a fold',
    }
    const id = idOf(await send(messageOf(forged, '.dot\r\n..two\r\n\r\n  end  ')))
    const source = (await readSource(api.db, id)).toString('latin1')
    const [header = '', ...rest] = source.split('\r\n\r\n')
    expect(rest.join('\r\n\r\n')).toBe('.dot\r\n..two\r\n\r\n  end  \r\n')
    expect(header.split('\r\n')).toEqual([
      'From: hello@sender.test',
      'To: ada@example.test',
      'Subject: Hello',
      'Received: from app by mail; Mon, 1 Jan 2024 00:00:00 +0000',
      'X-Odd:  two  spaces',
      '\tand a fold',
      expect.stringMatching(/^Message-ID: <[^<>]+@sender\.test>$/),
      expect.stringMatching(/^Date: .* \+0000$/),
      'MIME-Version: 1.0',
    ])
    const row = await api.db
      .selectFrom('emails')
      .select('message_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(header).toContain(`Message-ID: <${row.message_id}>`)
  })

  test('Message-ID and Date of the client stay', async () => {
    const own = { 'Message-ID': '<mine@app.test>', Date: 'Mon, 1 Jan 2024 00:00:00 +0000' }
    const id = idOf(await send(messageOf({ ...own, 'MIME-Version': '1.0' })))
    const source = (await readSource(api.db, id)).toString()
    expect(source).toBe(messageOf({ ...own, 'MIME-Version': '1.0' }))
  })

  test('a message of several slices', { timeout: 60_000 }, async () => {
    const line = `${'x'.repeat(98)}\r\n`
    const body = line.repeat(40_000)
    const id = idOf(
      await send(messageOf({ Date: 'x', 'Message-ID': '<a@b>', 'MIME-Version': '1.0' }, body)),
    )
    const source = (await readSource(api.db, id)).toString()
    expect(source.endsWith(`\r\n\r\n${body}\r\n`)).toBe(true)
    expect(server.stateFolder).toBeTruthy()
  })

  test('many at once share commits, and each is whole', { timeout: 60_000 }, async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => logIn(server.port, api.key)))
    onTestFinished(() => {
      for (const client of clients) client.close()
    })
    const rounds = clients.map(async (client, c) => {
      const ids: [string, string][] = []
      for (let i = 0; i < 10; i++) {
        const subject = `of ${c}, ${i}`
        ids.push([subject, idOf(await sendOn(client, messageOf({ Subject: subject }, subject)))])
      }
      return ids
    })
    for (const [subject, id] of (await Promise.all(rounds)).flat()) {
      const source = (await readSource(api.db, id)).toString()
      expect(source).toContain(`Subject: ${subject}\r\n`)
      expect(source.endsWith(`\r\n\r\n${subject}\r\n`)).toBe(true)
    }
  })

  test('AUTH LOGIN, tracking off unless asked for, no To at all, 8-bit without saying so', async () => {
    const client = await connectInbound(server.port)
    onTestFinished(() => client.close())
    const features = await client.say('EHLO app.test')
    for (const feature of [
      'PIPELINING',
      'SIZE 134217728',
      '8BITMIME',
      'SMTPUTF8',
      'AUTH PLAIN LOGIN',
    ]) {
      expect(features).toContain(feature)
    }
    expect(await client.say('AUTH LOGIN')).toMatch(/^334/)
    expect(await client.say(Buffer.from('user').toString('base64'))).toMatch(/^334/)
    expect(await client.say(Buffer.from(api.key).toString('base64'))).toMatch(/^235/)
    const message = messageOf({ To: '', Subject: 'Größe' }, 'Grüße')
    const wire = Buffer.from(message, 'utf8').toString('latin1')
    const id = idOf(await sendOn(client, wire))
    expect(await read(id)).toMatchObject({ to: [], subject: 'Größe', text: 'Grüße\n' })
    const row = await api.db
      .selectFrom('emails')
      .select(['track_opens', 'track_clicks'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ track_opens: false, track_clicks: false })
  })

  test('a suppressed recipient bounces without SMTP, as over HTTP', async () => {
    await api.request('POST', '/v1/suppressions', { email: 'left@example.test' })
    const id = idOf(await send(messageOf(), ['left@example.test', 'ada@example.test']))
    const rows = await api.db
      .selectFrom('deliveries')
      .select(['recipient', 'state'])
      .where('email_id', '=', id)
      .orderBy('recipient')
      .execute()
    expect(rows).toEqual([
      { recipient: 'ada@example.test', state: 'queued' },
      { recipient: 'left@example.test', state: 'suppressed' },
    ])
  })
})

describe('a message without a date that is scheduled', () => {
  const date = (at: number) => `Date: ${new Date(at).toUTCString().replace('GMT', '+0000')}`
  const dateOf = async (id: string) =>
    (await readSource(api.db, id))
      .toString()
      .split('\r\n')
      .filter((line) => line.startsWith('Date:'))
  const DAY_MS = 86_400_000
  const at = Math.floor(Date.now() / 1_000) * 1_000 + 30 * DAY_MS
  const options = { 'X-Dripline-Options': JSON.stringify({ scheduled_at: at }) }

  test('is dated anew when it is moved, as often as it is, and the rest of it stays', async () => {
    const id = idOf(await send(messageOf(options)))
    expect(await dateOf(id)).toEqual([date(at)])
    const before = (await readSource(api.db, id)).toString()
    const later = at + 9 * DAY_MS + 1_999
    expect((await api.request('PATCH', `/v1/emails/${id}`, { scheduled_at: later })).status).toBe(
      200,
    )
    expect(await dateOf(id)).toEqual([date(later)])
    expect((await readSource(api.db, id)).toString()).toBe(before.replace(date(at), date(later)))
    const began = Math.floor(Date.now() / 1_000) * 1_000
    await api.request('PATCH', `/v1/emails/${id}`, { scheduled_at: 0 })
    const [line = ''] = await dateOf(id)
    expect(Date.parse(line.slice('Date: '.length))).toBeGreaterThanOrEqual(began)
  })

  test('keeps a date of its own, and a line of its text that looks like one', async () => {
    const own = 'Mon, 02 Mar 2026 09:00:00 +0100'
    const dated = { ...options, Date: own }
    const id = idOf(await send(messageOf(dated)))
    await api.request('PATCH', `/v1/emails/${id}`, { scheduled_at: at + DAY_MS })
    expect(await dateOf(id)).toEqual([`Date: ${own}`])
    const other = idOf(await send(messageOf(dated, `x\r\n${date(at)}\r\ny`)))
    await api.request('PATCH', `/v1/emails/${other}`, { scheduled_at: at + DAY_MS })
    expect(await dateOf(other)).toEqual([`Date: ${own}`, date(at)])
  })
})
