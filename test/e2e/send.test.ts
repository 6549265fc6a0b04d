// One transactional email: accepted, delivered over SMTP with a valid signature, and read over the API.
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()

interface EmailBody {
  last_event: { status: string }
  recipient_statuses: { recipient: string; events: { status: string }[] }[]
}

test('an email is accepted, signed, delivered to each recipient, and read over the API', async () => {
  const h = await createHarness(database)
  const sent = await h.request<{ id: string; status: string }>('POST', '/v1/emails', {
    from: 'Team <hello@sender.test>',
    to: ['one@example.test', 'Two <two@example.test>'],
    bcc: 'quiet@example.test',
    subject: 'Grüße',
    html: '<p>Hello</p>',
  })
  expect(sent).toMatchObject({ status: 200, body: { status: 'queued' } })

  await eventually(() => expect(h.smtp.mails).toHaveLength(3))
  const recipients = h.smtp.mails.flatMap((mail) => mail.to).sort()
  expect(recipients).toEqual(['one@example.test', 'quiet@example.test', 'two@example.test'])
  const raw = h.smtp.mails[0]?.raw ?? Buffer.alloc(0)
  expect(new Set(h.smtp.mails.map((mail) => mail.raw.toString())).size).toBe(1)
  expect(raw.toString()).not.toContain('quiet@example.test')

  const { results } = await dkimVerify(raw, {
    resolver: async () => [[`v=DKIM1; k=rsa; p=${h.publicKey}`]],
  })
  expect(results.map((result) => result.status.result)).toEqual(['pass'])

  const read = await eventually(async () => {
    const { body } = await h.request<EmailBody>('GET', `/v1/emails/${sent.body.id}`)
    for (const { events } of body.recipient_statuses) {
      expect(events.map((event) => event.status)).toEqual(['sent', 'delivered'])
    }
    return body
  })
  expect(read.recipient_statuses.map((row) => row.recipient).sort()).toEqual(recipients)
  expect(read.last_event.status).toBe('delivered')
})

test('a dead address bounces and is suppressed, a deferral and a fault of ours are tried again, nobody else waits', async () => {
  const h = await createHarness(database)
  h.smtp.setScript({
    gone: { at: 'rcpt', reply: '550 5.1.1 no such user here' },
    later: [{ at: 'dot', reply: '451 4.3.0 try again in 1 second' }],
    refused: [{ at: 'rcpt', reply: '554 5.7.1 Relay access denied, try again in 1 second' }],
  })
  const send = (to: string[]) =>
    h.request<{ id: string }>('POST', '/v1/emails', {
      from: 'hello@sender.test',
      to,
      subject: 'Hello',
      html: '<p>Hello</p>',
    })
  const names = ['gone', 'later', 'refused', 'fine']
  const { body } = await send(names.map((name) => `${name}@example.test`))
  const statusesOf = async (id: string) => {
    const { body: email } = await h.request<EmailBody>('GET', `/v1/emails/${id}`)
    return Object.fromEntries(
      email.recipient_statuses.map((row) => [row.recipient, row.events.map((e) => e.status)]),
    )
  }
  await eventually(async () =>
    expect(await statusesOf(body.id)).toEqual({
      'gone@example.test': ['sent', 'bounced'],
      'later@example.test': ['sent', 'delivered'],
      'refused@example.test': ['sent', 'delivered'],
      'fine@example.test': ['sent', 'delivered'],
    }),
  )
  for (const name of ['later', 'refused']) {
    expect(h.smtp.attempts.get(`${name}@example.test`), name).toBe(2)
  }

  const again = await send(['gone@example.test'])
  expect(await statusesOf(again.body.id)).toEqual({ 'gone@example.test': ['sent', 'bounced'] })
  expect(h.smtp.attempts.get('gone@example.test')).toBe(1)
})
