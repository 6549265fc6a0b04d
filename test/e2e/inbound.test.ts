// Bounces and complaints that arrive by mail at a real worker, and their effects.

import { expect, test } from 'vitest'
import { verpAddress } from '../../mail/tracking/mailboxes.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createInboundHarness, written } from '../setup/inbound.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { reportOf } from '../unit/inbound/feedbackMails.ts'
import { feedbackReport, statusReport } from '../unit/inbound/reports.ts'

const database = await createTestDatabase()

test('a bounce after delivery: event, suppression, automation event, a workflow that waited', async () => {
  const h = await createInboundHarness(database)
  const flow = design(
    {
      start: onEvent('began'),
      hello: mail('Hello'),
      wait: ['wait_for_event', { event_name: 'email.bounced' }],
      end: ['exit', { outcome: 'done' }],
    },
    [
      ['start', 'hello'],
      ['hello', 'wait'],
      ['wait', 'end', 'received'],
    ],
  )
  await insertFlow(h.db, h, flow)
  const executionId = await h.post('began', 'gone@example.test')
  await eventually(async () =>
    expect(await h.execution(executionId)).toMatchObject({
      status: 'WAITING',
      current_step_id: 'wait',
    }),
  )
  await eventually(async () => expect(await h.stateOf('gone@example.test')).toBe('delivered'))
  // The contact hears of the delivery a moment after the row.
  await eventually(async () =>
    expect((await h.events('gone@example.test')).map((one) => one.event_name)).toContain(
      'email.delivered',
    ),
  )
  const [sent] = h.smtp.mailsTo('gone@example.test')
  const returnPath = sent?.from ?? ''
  expect(returnPath).toMatch(/^b\+\d+\.[0-9a-f]{20}@bounces\.sender\.test$/)

  // A delay report makes no event.
  const delayed = { Action: 'delayed', Status: '4.4.1', 'Diagnostic-Code': 'smtp; 451 later' }
  const before = await written(h)
  expect(await h.report(returnPath, statusReport(delayed))).toMatch(/^250 /)
  expect(await written(h)).toEqual(before)

  expect(await h.report(returnPath)).toMatch(/^250 /)
  const { email_id } = await h.db
    .selectFrom('deliveries')
    .select('email_id')
    .where('recipient', '=', 'gone@example.test')
    .executeTakeFirstOrThrow()
  expect(await h.eventsOf(email_id, 'gone@example.test')).toMatchObject([
    { status: 'sent' },
    { status: 'delivered' },
    { status: 'bounced', type: 'Permanent', subtype: 'NoEmail' },
  ])
  expect(await h.stateOf('gone@example.test')).toBe('bounced')
  expect(await h.suppressions()).toMatchObject([
    { email: 'gone@example.test', reason: 'bounce', source_id: email_id },
  ])
  await eventually(async () =>
    expect(await h.execution(executionId)).toMatchObject({ status: 'COMPLETED' }),
  )
  expect((await h.events('gone@example.test'))[0]).toMatchObject({
    event_name: 'email.bounced',
    properties: { email_id, execution_id: executionId, type: 'Permanent', subtype: 'NoEmail' },
  })

  // Repeated reports, many at once, and a different one change nothing more.
  const after = await written(h)
  const again = await Promise.all([
    ...Array.from({ length: 5 }, () => h.report(returnPath)),
    h.report(returnPath, statusReport({ Status: '5.2.2', 'Diagnostic-Code': 'smtp; 552 full' })),
  ])
  for (const reply of again) expect(reply).toMatch(/^250 /)
  expect(await written(h)).toEqual(after)

  // The next email to them is suppressed without SMTP.
  const next = await h.request<{ id: string }>('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to: 'Gone@example.test',
    subject: 'Hello',
    text: 'Hello',
  })
  expect(await h.statusOf(next.body.id, 'Gone@example.test')).toMatchObject({
    status: 'bounced',
    type: 'Permanent',
    subtype: 'OnAccountSuppressionList',
  })
  expect(h.smtp.mailsTo('gone@example.test')).toHaveLength(1)

  // A soft bounce makes an event and does not suppress at once; neither does a refusal that is about this service.
  for (const [to, fields, subtype] of [
    [
      'full@example.test',
      { Status: '4.2.2', 'Diagnostic-Code': 'smtp; 452 4.2.2 full' },
      'MailboxFull',
    ],
    [
      'ours@example.test',
      { Status: '5.7.26', 'Diagnostic-Code': 'smtp; 550 5.7.26 no SPF' },
      'General',
    ],
  ] as const) {
    const mailed = await h.deliver(to)
    expect(await h.report(mailed.returnPath, statusReport(fields))).toMatch(/^250 /)
    expect(await h.statusOf(mailed.id, to)).toMatchObject({ type: 'Transient', subtype })
  }
  expect((await written(h)).softBounces).toMatchObject([{ email: 'full@example.test' }])
  expect(await h.suppressions()).toHaveLength(1)

  const metrics = await (await fetch(`${h.workers[0]?.url}/metrics`)).text()
  expect(metrics).toMatch(/^dripline_inbound_reports_total\{what="bounce",taken="taken",.*\} 3$/m)
  expect(metrics).toMatch(/^dripline_inbound_reports_total\{what="bounce",taken="known",.*\} 6$/m)
  expect(h.workers[0]?.log(1000)).not.toContain('@example.test')

  // Unknown and forged return paths change nothing.
  const last = await written(h)
  const forged = returnPath.replace(/\.(.)/, (_, x) => `.${x === '0' ? '1' : '0'}`)
  expect(await h.report(forged)).toMatch(/^550 5\.1\.1 /)
  expect(await h.report(returnPath.replace('@bounces.sender', '@bounces.other'))).toMatch(
    /^550 5\.1\.1 /,
  )
  expect(await h.report(returnPath, statusReport(), 'x@example.test')).toMatch(/^550 5\.7\.1 /)
  expect(await h.report(returnPath, 'x'.repeat(1_100_000))).toMatch(/^552 /)
  expect(await written(h)).toEqual(last)
})

test('a report that arrives before the reply to its message is refused until the reply is settled', async () => {
  const h = await createInboundHarness(database)
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  h.smtp.setScript({ slow: { at: 'dot', reply: '250 2.0.0 accepted', hold } })
  const { body } = await h.request<{ id: string }>('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to: 'slow@example.test',
    subject: 'Hello',
    text: 'Hello',
  })
  await eventually(async () => expect(await h.stateOf('slow@example.test')).toBe('data_sent'))
  const { id } = await h.db
    .selectFrom('deliveries')
    .select('id')
    .where('email_id', '=', body.id)
    .executeTakeFirstOrThrow()
  const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
  const returnPath = verpAddress(secrets.mac('verp'), id, 'bounces.sender.test')
  expect(await h.report(returnPath)).toMatch(/^451 4\.3\.0 /)
  release()
  await eventually(async () => expect(await h.report(returnPath)).toMatch(/^250 /))
  expect(await h.eventsOf(body.id, 'slow@example.test')).toMatchObject([
    { status: 'sent' },
    { status: 'delivered' },
    { status: 'bounced', subtype: 'NoEmail' },
  ])
})

test('a complaint suppresses and unsubscribes, from audiences and from the workflow', async () => {
  const h = await createInboundHarness(database)
  const flow = design(
    {
      start: onEvent('joined'),
      hello: mail('Hello'),
      wait: ['wait_for_event', { event_name: 'never' }],
      end: ['exit', { outcome: 'done' }],
    },
    [
      ['start', 'hello'],
      ['hello', 'wait'],
      ['wait', 'end', 'received'],
    ],
  )
  await insertFlow(h.db, h, flow)
  const executionId = await h.post('joined', 'angry@example.test')
  await eventually(async () => expect(await h.stateOf('angry@example.test')).toBe('delivered'))
  const audiences: string[] = []
  for (const name of ['A', 'B', 'C']) {
    audiences.push((await h.request<{ id: string }>('POST', '/v1/audiences', { name })).body.id)
  }
  const join = (id: string | undefined, email: string, is_subscribed = true) =>
    h.request('POST', `/v1/audiences/${id}/contacts`, { email, is_subscribed })
  await join(audiences[0], 'Angry@example.test')
  await join(audiences[0], 'calm@example.test')
  await join(audiences[1], 'angry@example.test', false)
  await join(audiences[2], 'angry@example.test')

  const returnPath = h.smtp.mailsTo('angry@example.test')[0]?.from ?? ''
  expect(await h.report(returnPath, feedbackReport('not-spam'), 'fbl@remote.test')).toMatch(/^250 /)
  expect(await h.suppressions()).toEqual([])
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => h.report(returnPath, feedbackReport(), 'fbl@remote.test')),
  )
  for (const answer of answers) expect(answer).toMatch(/^250 /)

  expect(await h.suppressions()).toMatchObject([
    { email: 'angry@example.test', reason: 'complaint', source_id: expect.stringMatching(/^em_/) },
  ])
  const { body } = await h.request<{
    audiences: { id: string; contact_count: number; unsubscribers: number }[]
  }>('GET', '/v1/audiences')
  const counts = new Map(body.audiences.map((a) => [a.id, [a.contact_count, a.unsubscribers]]))
  expect(audiences.map((id) => counts.get(id))).toEqual([
    [2, 1],
    [1, 1],
    [1, 1],
  ])
  await eventually(async () =>
    expect(await h.execution(executionId)).toMatchObject({ status: 'CANCELLED' }),
  )
  const names = (await h.events('angry@example.test')).map((event) => event.event_name)
  expect(names.filter((name) => name === 'email.unsubscribed')).toHaveLength(1)
  expect(await h.post('joined', 'angry@example.test')).toBe('')
  // The contract has no status for a complaint: the email stays delivered.
  expect(await h.stateOf('angry@example.test')).toBe('delivered')
})

test('a report of a feedback loop to its mailbox, and mail for the postmaster', async () => {
  const env = { FBL_ADDRESS: 'fbl@mail.test', POSTMASTER: 'ops@operator.test' }
  const h = await createInboundHarness(database, { env })
  const { returnPath } = await h.deliver('tired@example.test')
  const report = reportOf('yahoo', { returnPath, messageId: 'none@sender.test' })
  expect(await h.report('fbl@mail.test', report, 'feedback@arf.mail.yahoo.test')).toMatch(/^250 /)
  expect(await h.suppressions()).toContainEqual(
    expect.objectContaining({ email: 'tired@example.test', reason: 'complaint' }),
  )
  const notice = 'From: a@b.test\r\nSubject: Your zone\r\n\r\nHi\r\n'
  expect(await h.report('postmaster@bounces.sender.test', notice, 'a@b.test')).toMatch(/^250 /)
  const forwarded = h.smtp.mailsTo('ops@operator.test')
  expect(forwarded.map(({ from, raw }) => [from, raw.toString().endsWith(notice)])).toEqual([
    ['a@b.test', true],
  ])
  expect(await h.report('postmaster@bounces.stranger.test', notice, 'a@b.test')).toMatch(/^550 /)
})
