// The life of a sending domain against a real name server: its records appear, its key is rotated, a record
// breaks.
import { Client, Connection } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { workflowIds } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { startNameServer } from '../setup/nameServer.ts'

const HOUR_MS = 60 * 60 * 1000
const database = await createTestDatabase()

interface Shown {
  id: string
  name: string
  status: string
  verified_for_sending_status: boolean
  verification_info: { error_type: string | null; soa_record: object }
  dns_records: { name: string; type: string; value: string; priority?: number }[]
  record_states: { dkim?: Record<string, string>; mx?: string; spf?: string; tracking?: string }
}

/** A record as a line of a zone file; long texts in chunks of 255. */
function line({ name, type, value, priority }: Shown['dns_records'][number]): string {
  if (type === 'MX') return `${name} MX ${priority} ${value}.`
  if (type === 'CNAME') return `${name} CNAME ${value}.`
  const chunks = value.match(/.{1,255}/g) ?? []
  return `${name} TXT ${chunks.map((chunk) => `"${chunk}"`).join(' ')}`
}

test('PENDING until every record is there; another key; a broken record; a dead name server; deleted', async () => {
  const nameServer = await startNameServer({ 'acme.test': '' })
  let alive = true
  const closeNames = async () => {
    if (alive) await nameServer.close()
    alive = false
  }
  onTestFinished(closeNames)
  const env = {
    DNS_SERVERS: nameServer.address,
    MAIL_HOST: 'mail.operator.test',
    SPF_MECHANISM: 'include:spf.operator.test',
    PUBLIC_URL: 'https://api.operator.test',
    WARM_UP: 'false',
  }
  const h = await createHarness(database, { env })
  const made = await h.request<Shown>('POST', '/v1/domains', { name: 'news.acme.test' })
  expect(made.status).toBe(201)
  const { id } = made.body

  const show = async () => (await h.request<Shown>('GET', `/v1/domains/${id}?expand=details`)).body
  const checkedAt = async () =>
    (
      await h.db
        .selectFrom('domains')
        .select('last_checked_at')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).last_checked_at?.getTime() ?? 0
  /** Requests a check and returns the domain after it. */
  const check = async () => {
    const before = await checkedAt()
    expect((await h.request('POST', `/v1/domains/${id}/verify`)).status).toBe(200)
    await eventually(async () => expect(await checkedAt()).toBeGreaterThan(before))
    return show()
  }
  const send = (subject: string) =>
    h.request('POST', '/v1/emails', {
      from: 'hello@news.acme.test',
      to: 'ada@example.test',
      subject,
      text: 'Hello',
    })
  /** The selectors in the signatures of the message with that subject. */
  const selectorsOf = (subject: string) =>
    eventually(() => {
      const raw = h.smtp.mails.map((mail) => mail.raw.toString('latin1'))
      const found = raw.find((text) => text.includes(`Subject: ${subject}\r\n`))
      if (found === undefined) throw new Error(`no mail "${subject}" yet`)
      const headers = found.slice(0, found.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
      return [...headers.matchAll(/^DKIM-Signature:.*?\bs=([^; ]+)/gm)].map(([, s]) => s)
    })

  // Nothing is published: the checks start by themselves and find nothing.
  const connection = await Connection.connect({ address: h.service.temporalAddress })
  onTestFinished(() => connection.close())
  const client = new Client({ connection, namespace: h.service.temporalNamespace })
  const run = client.workflow.getHandle(workflowIds.domain(id))
  await eventually(async () => expect((await run.describe()).status.name).toBe('RUNNING'))
  expect((await show()).status).toBe('NOT_STARTED')
  expect(await send('Early')).toMatchObject({ status: 403, body: { code: 'domain_not_verified' } })
  expect(await check()).toMatchObject({
    status: 'PENDING',
    verification_info: { error_type: 'HOST_NOT_FOUND', soa_record: { zone: 'acme.test' } },
  })

  // Publish one record after the other.
  const records = (await show()).dns_records
  const [dkim, mx, spf] = records.map(line)
  const publish = (lines: (string | undefined)[]) =>
    nameServer.change('acme.test', lines.join('\n'))
  await publish([dkim])
  const signed = await check()
  expect(Object.values(signed.record_states.dkim ?? {})).toEqual(['SUCCESS'])
  expect(signed).toMatchObject({
    status: 'PENDING',
    verification_info: { error_type: 'HOST_NOT_FOUND' },
  })
  await publish([dkim, mx])
  expect(await check()).toMatchObject({
    status: 'PENDING',
    record_states: { mx: 'SUCCESS', spf: 'TYPE_NOT_FOUND' },
    verification_info: { error_type: 'TYPE_NOT_FOUND' },
  })
  await publish([dkim, mx, spf])
  expect(await check()).toMatchObject({
    status: 'SUCCESS',
    verified_for_sending_status: true,
    verification_info: { error_type: null },
  })
  expect((await send('First')).status).toBe(200)
  const [oldSelector] = await selectorsOf('First')
  expect(dkim).toContain(`${oldSelector}._domainkey`)

  // The new key signs only after its record was seen.
  const rotated = await h.request<Shown>('POST', `/v1/domains/${id}/rotate-dkim`)
  const [, newDkim] = rotated.body.dns_records.map(line)
  const newSelector = newDkim?.split('.')[0]
  expect(newSelector).not.toBe(oldSelector)
  expect((await check()).record_states.dkim).toEqual({
    [oldSelector ?? '']: 'SUCCESS',
    [newSelector ?? '']: 'HOST_NOT_FOUND',
  })
  await send('Second')
  expect(await selectorsOf('Second')).toEqual([oldSelector])
  await publish([dkim, newDkim, mx, spf])
  await check()
  let sent = 0
  await eventually(
    async () => {
      sent += 1
      await send(`Rotated ${sent}`)
      expect(await selectorsOf(`Rotated ${sent}`)).toEqual([newSelector])
    },
    { deadline_ms: 30_000 },
  )
  // Mail on its way still needs the old key; it is retired after seven days.
  expect((await check()).dns_records.filter(({ name }) => /domainkey/.test(name))).toHaveLength(2)
  const longAgo = new Date(Date.now() - 8 * 24 * HOUR_MS)
  await h.db
    .updateTable('domain_keys')
    .set({ activated_at: longAgo })
    .where('domain_id', '=', id)
    .where('selector', '=', newSelector ?? '')
    .execute()
  await h.db
    .updateTable('domain_keys')
    .set({ activated_at: new Date(longAgo.getTime() - HOUR_MS) })
    .where('domain_id', '=', id)
    .where('selector', '=', oldSelector ?? '')
    .execute()
  expect((await check()).dns_records.map(line)).not.toContain(dkim)

  // A record breaks: three misses over an hour are a temporary failure, in which the domain may still send.
  await publish([newDkim, spf])
  expect(await check()).toMatchObject({
    status: 'SUCCESS',
    verification_info: { error_type: 'TYPE_NOT_FOUND' },
  })
  await check()
  await h.db
    .updateTable('domains')
    .set({ failing_since: new Date(Date.now() - HOUR_MS) })
    .where('id', '=', id)
    .execute()
  const broken = await check()
  expect(broken).toMatchObject({ status: 'TEMPORARY_FAILURE', verified_for_sending_status: true })

  // The name server does not answer: nothing changes except the reported error.
  await closeNames()
  expect(await check()).toMatchObject({
    status: 'TEMPORARY_FAILURE',
    verification_info: { error_type: 'SERVICE_ERROR' },
    record_states: { mx: 'SERVICE_ERROR' },
  })

  expect((await h.request('DELETE', `/v1/domains/${id}`)).status).toBe(204)
  await eventually(async () => expect((await run.describe()).status.name).toBe('COMPLETED'))
}, 120_000)
