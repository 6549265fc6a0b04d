// Hostile texts in every field of a request: refused with a reason, or harmless in the sent message.
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { startFaultSink } from '../setup/faultSink.ts'
import { createHarness } from '../setup/harness.ts'
import { faultsOf, hostilePieces, hostileText } from '../setup/hostileTexts.ts'

const database = await createTestDatabase()
const seed = Number(process.env['FAULT_SEED'] ?? 20_261_121)
const RANDOM_PER_FIELD = 6
const TOGETHER = 20

type Body = Record<string, unknown>

const CONTACT_FIELD = 'contact, properties'

const file = { filename: 'a.txt', content: 'YQ==' }
/** A request with a text in one of its fields. */
const fields: Record<string, (evil: string) => Body> = {
  from: (evil) => ({ from: evil }),
  'from, name': (evil) => ({ from: `${evil} <hello@sender.test>` }),
  'from, quoted name': (evil) => ({ from: `"${evil}" <hello@sender.test>` }),
  'from, local part': (evil) => ({ from: `${evil}@sender.test` }),
  to: (evil) => ({ to: evil }),
  'to, name': (evil) => ({ to: [`"${evil}" <bo@b.test>`] }),
  'to, local part': (evil) => ({ to: [`${evil}@b.test`, `bo+${evil}@b.test`] }),
  'to, domain': (evil) => ({ to: `bo@${evil}.test` }),
  cc: (evil) => ({ cc: [`${evil} <cy@b.test>`] }),
  bcc: (evil) => ({ bcc: `cy@b.test${evil}` }),
  reply_to: (evil) => ({ reply_to: `"${evil}" <ray@b.test>` }),
  subject: (subject) => ({ subject }),
  html: (html) => ({ html }),
  text: (text) => ({ text }),
  'headers, value': (evil) => ({ headers: { 'X-Own': evil } }),
  'headers, name': (evil) => ({ headers: { [evil]: 'x' } }),
  filename: (filename) => ({ attachments: [{ ...file, filename }] }),
  content_type: (content_type) => ({ attachments: [{ ...file, content_type }] }),
  content_id: (content_id) => ({ attachments: [{ ...file, content_id }] }),
  content: (content) => ({ attachments: [{ ...file, content }] }),
  'tags, value': (evil) => ({ tags: { tag: evil } }),
  'tags, key': (evil) => ({ tags: { [evil]: 'x' } }),
  metadata: (evil) => ({ metadata: { [evil]: evil } }),
  variables: (evil) => ({
    variables: { evil },
    subject: 'Hello {{ evil }}',
    html: '<p title="{{ evil }}">{{ evil }}</p>',
    text: '{{ evil }}',
  }),
  [CONTACT_FIELD]: () => ({
    variables: { n: 1 },
    subject: 'Dear {{ contact.properties.nick }}',
    html: '<p title="{{ contact.properties.nick }}">{{ contact.properties.nick }}</p>',
    text: '{{ contact.properties.nick }}',
  }),
}

const headerNames = [
  'dkim-signature',
  'from',
  'to',
  'cc',
  'reply-to',
  'date',
  'message-id',
  'subject',
  'x-own',
  'feedback-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
]

interface Probe {
  field: string
  evil: string
  body: Body
  name: string
}

function probesOf(field: string, offset: number): Probe[] {
  const random = fc.sample(hostileText, { seed: seed + offset, numRuns: RANDOM_PER_FIELD })
  return [...hostilePieces, ...random].map((evil, i) => ({
    field,
    evil,
    body: {
      from: 'hello@sender.test',
      to: field === CONTACT_FIELD ? `contact${i}@b.test` : 'bo@b.test',
      subject: 'Hello',
      html: '<p>Hello</p>',
      ...fields[field]?.(evil),
    },
    name: `${field} ${JSON.stringify(evil.slice(0, 120))} (FAULT_SEED=${seed})`,
  }))
}

test('every field of POST /v1/emails', { timeout: 240_000 }, async () => {
  const sink = await startFaultSink()
  onTestFinished(() => sink.close())
  const h = await createHarness(database, { env: { SMTP_URL: sink.url } })
  const probes = Object.keys(fields).flatMap(probesOf)
  const accepted: Probe[] = []
  const faults: string[] = []

  const probe = async (one: Probe) => {
    if (one.field === CONTACT_FIELD) {
      const contact = { email: one.body['to'], contact_properties: { nick: one.evil } }
      await h.request('POST', '/v1/automation/events', { event_name: 'seen', ...contact })
    }
    const { status, body } = await h.request('POST', '/v1/emails', one.body)
    if (status === 200) accepted.push(one)
    else if (status !== 400 && !(status === 403 && one.field.startsWith('from'))) {
      faults.push(`${one.name}: ${status} ${JSON.stringify(body)}`)
    }
  }
  for (let at = 0; at < probes.length; at += TOGETHER) {
    await Promise.all(probes.slice(at, at + TOGETHER).map(probe))
  }
  expect(faults).toEqual([])
  // Some must be accepted and some refused, or the test would prove nothing.
  expect(accepted.length).toBeGreaterThan(100)
  expect(accepted.length).toBeLessThan(probes.length - 100)

  const subjects = await h.db.selectFrom('emails').select('subject').execute()
  for (const subject of ['Hello .', 'Dear .']) expect(subjects).toContainEqual({ subject })

  const deliveries = () =>
    h.db
      .selectFrom('deliveries')
      .innerJoin('emails', 'emails.id', 'deliveries.email_id')
      .select(['message_id', 'recipient', 'state', 'last_response'])
      .execute()
  const rows = await eventually(
    async () => {
      const found = await deliveries()
      const open = found.filter(({ state }) => state !== 'delivered')
      expect(open.slice(0, 3), `${open.length} of ${found.length} are not delivered`).toEqual([])
      return found
    },
    { deadline_ms: 120_000 },
  )
  expect(sink.seen.strange).toEqual([])
  const wanted = rows.map(({ message_id, recipient }) => `${message_id} ${recipient}`).sort()
  const got = sink.seen.accepted.map(({ bytes, to }) => {
    const text = bytes.toString('latin1')
    return `${/^Message-ID: <(.*)>\r$/m.exec(text)?.[1]} ${to}`
  })
  expect(got.sort()).toEqual(wanted)
  for (const { recipient } of rows) expect(normalizeContactEmail(recipient)).not.toBeNull()

  const ownNames = accepted.flatMap(({ body }) => Object.keys(body['headers'] ?? {}))
  const allowed = [...headerNames, ...ownNames.map((name) => name.toLowerCase())]
  for (const { bytes, from } of sink.seen.accepted) {
    const found = faultsOf(bytes, allowed)
    if (found.length > 0) faults.push(`${found}: ${bytes.toString('latin1').slice(0, 1_500)}`)
    if (!/^b\+\d+\.[\w-]+@bounces\.sender\.test$/.test(from)) faults.push(`from ${from}`)
  }
  expect(faults).toEqual([])
  console.log(`injection: ${probes.length} probes, ${accepted.length} sent, ${rows.length} mails`)
})

test('names of domains', async () => {
  const h = await createHarness(database, { workers: 0 })
  expect((await h.request('POST', '/v1/domains', { name: 'harmless.test' })).status).toBeLessThan(
    300,
  )
  for (const evil of hostilePieces) {
    for (const name of [evil, `${evil}.test`, `a${evil}.b.test`]) {
      const { status } = await h.request('POST', '/v1/domains', { name })
      expect(status, JSON.stringify(name)).toBe(400)
    }
  }
})
