// Texts about an erased contact that others have written: reasons of callers, what servers said of mail to the team, kept answers.
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { createLeavers, type Leaver } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { storeLinks } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const leavers = await createLeavers(api)

beforeAll(async () => {
  const body = { url: 'https://hooks.example.test/in', events: ['*'] }
  expect((await api.request('POST', '/v1/webhooks', body)).status).toBe(201)
})

const erase = async ({ email }: Pick<Leaver, 'email'>) => {
  const path = `/v1/automation/contacts/${encodeURIComponent(email)}`
  expect((await api.request('DELETE', path)).status).toBe(204)
  expect(await carryOnErasing(deps)).toBe('completed')
}
const post = async (path: string, body: object, key: string) => {
  const answer = await api.request('POST', path, body, { 'idempotency-key': key })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer
}

test('why a caller has cancelled an execution', async () => {
  const name = uniqueName('countess')
  const [one, other] = [await leavers.leaver(), await leavers.leaver()]
  const cancel = ({ executionId }: Leaver, reason?: string) =>
    post(`/v1/executions/${executionId}/cancel`, { reason }, uniqueName('key'))
  await cancel(one, `asked by ${name}, ${one.email}`)
  const [without = ''] = await one.begin()
  await cancel({ ...one, executionId: without })
  await cancel(other, `signed up as ${name} twice`)
  await erase(one)
  expect(await traces(db, one.email)).toEqual([])
  await erase(other)
  expect(await traces(db, name)).toEqual([])
  const { rows } = await sql<{ reason: string }>`
    select cancellation_reason as reason from executions
    where id in (${one.executionId}, ${without}, ${other.executionId})`.execute(db)
  expect(rows).toEqual([{ reason: 'cancelled' }, { reason: 'cancelled' }, { reason: 'cancelled' }])
  const { rows: told } = await sql<{ reason: string }>`
    select data->>'cancellation_reason' as reason from webhook_events
    where type = 'execution.cancelled' and data->>'execution_id' = ${other.executionId}`.execute(db)
  expect(told).toEqual([{ reason: null }])
})

test('answers that hold a text with their address', async () => {
  const { email } = await leavers.leaver()
  const { body: template } = await api.request<{ id: string }>('POST', '/v1/templates', {
    ...{ name: uniqueName('template'), subject: 'For {{ who }}', from: 'a@sender.test' },
    html: '<p>{{ who }}</p>',
  })
  const values = { variables: { who: `Ada <${email}>` } }
  const rendered = await post(`/v1/templates/${template.id}/render`, values, uniqueName('key'))
  expect(rendered.text).toContain(email)
  const events = [
    { event_name: 'no name', email },
    { event_name: 'seen', email: `"${email}` },
  ]
  const refused = await post('/v1/automation/events/batch', { events }, uniqueName('key'))
  expect(refused.text).toContain(email)
  await erase({ email })
  expect(await traces(db, email)).toEqual([])
})

test('what servers said of mail to the team about them', async () => {
  const name = uniqueName('countess')
  const one = await leavers.leaver()
  const boss = `${uniqueName('team')}@sender.test`
  const { emailId, deliveryId } = await leavers.mail(one, 'transactional', { team: [boss] })
  const said = `554 5.7.1 refused for its link https://crm.test/${name}?${one.email}`
  await bringTo(db, { ids: [deliveryId] }, 'bounced', new Date())
  await sql`update deliveries set last_response = ${said} where id = ${deliveryId}`.execute(db)
  await sql`insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome, response, conversation)
    values (${deliveryId}, 1, now(), now(), 'rejected', ${said}, ${said})`.execute(db)
  await sql`insert into email_events (email_id, workspace_id, recipient, status, at, data)
    values (${emailId}, ${workspaceId}, ${boss}, 'bounced', now(),
      jsonb_build_object('type', 'Permanent', 'subtype', 'ContentRejected', 'smtp_response', ${said}::text))`.execute(
    db,
  )
  expect(await traces(db, name)).not.toEqual([])
  await erase(one)
  expect(await traces(db, name, one.email)).toEqual([])
  // Why it bounced stays.
  expect(await leavers.outcome(deliveryId)).toBe('bounced, Permanent ContentRejected')
  const { rows } = await sql<{ bounce: object }>`
    select data->'bounce' as bounce from webhook_events
    where type = 'email.bounced' and data->>'email_id' = ${emailId}`.execute(db)
  expect(rows).toEqual([{ bounce: { type: 'Permanent', subtype: 'ContentRejected' } }])
})

test('what servers said to others of mail to several', async () => {
  const { email } = await leavers.leaver()
  const others = ['kept', 'gone'].map((name) => `${uniqueName(name)}@person.test`)
  const mail = { from: 'a@sender.test', to: [email, ...others], subject: 'S', text: 'T' }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  await bringTo(db, { emailId: body.id }, 'bounced', new Date())
  const saying = sql`'550 not together with ' || case when recipient = ${others[1]} then ${email} else ${`x${email}`} end`
  await sql`update deliveries set last_response = ${saying} where email_id = ${body.id}`.execute(db)
  await sql`insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome, response, conversation)
    select id, 1, now(), now(), 'rejected', last_response, last_response from deliveries where email_id = ${body.id}`.execute(
    db,
  )
  await sql`insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select email_id, workspace_id, recipient, 'bounced', now(), jsonb_build_object('smtp_response', last_response)
    from deliveries where email_id = ${body.id}`.execute(db)
  await erase({ email })
  const { rows } = await sql<{
    recipient: string
    last_response: string
    conversation: string
    said: string
    told: string
  }>`
    select d.recipient, d.last_response, a.conversation, e.data->>'smtp_response' as said, w.data #>> '{bounce,response}' as told
    from deliveries d join delivery_attempts a on a.delivery_id = d.id
    join email_events e on e.email_id = d.email_id and e.recipient = d.recipient and e.status = 'bounced'
    join webhook_events w on w.data->>'email_id' = d.email_id and w.data->>'recipient' = d.recipient and w.type = 'email.bounced'
    where d.email_id = ${body.id} order by d.id`.execute(db)
  const said = `550 not together with x${email}`
  expect(rows).toEqual([
    { recipient: others[0], last_response: said, conversation: said, said, told: said },
    { recipient: others[1], last_response: null, conversation: '', said: null, told: null },
  ])
})

test('other spellings of their address, in what is left of mail to several', async () => {
  const name = uniqueName("o'ada")
  const email = `${name}+shop@xn--bcher-kva.test`
  const written = `${name}+shop@BÜCHER.test`
  const event = { event_name: 'seen', email }
  expect((await api.request('POST', '/v1/automation/events', event)).status).toBe(202)
  const other = `${uniqueName('kept')}@person.test`
  const mail = { from: 'a@sender.test', to: [email, other], subject: 'S', text: 'T' }
  const tagged = { ...mail, tags: { who: written } }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', tagged)
  await bringTo(db, { emailId: body.id }, 'bounced', new Date())
  await sql`update deliveries set last_response = ${`550 not with <${written}>`} where email_id = ${body.id}`.execute(
    db,
  )
  const links = [email, written].flatMap((one) => [
    `https://shop.test/?${new URLSearchParams({ to: one })}`,
    `https://shop.test/?to=${encodeURIComponent(encodeURIComponent(one))}`,
    `https://shop.test/?to=${one.replace('+', '%2B')}`,
  ])
  const kept = `https://shop.test/?${new URLSearchParams({ to: `x${email}` })}`
  await storeLinks(deps, [{ email_id: body.id, urls: [...links, kept] }])
  await erase({ email })
  const { rows } = await sql<{ urls: string[]; said: string[]; tags: string[] }>`
    select l.urls, array(select last_response from deliveries d where d.email_id = l.email_id) as said,
      array(select value from email_stats where kind = 'tag' and value like ${`%${name}%`}
        union all select tags::text from email_stat_changes where tags::text like ${`%${name}%`}) as tags
    from email_links l where l.email_id = ${body.id}`.execute(db)
  expect(rows).toEqual([{ urls: [...links.map(() => ''), kept], said: [null, null], tags: [] }])
})

test('an event of a batch that was refused for its domain in Unicode', async () => {
  const name = uniqueName('ada')
  const event = { event_name: 'seen', email: `${name}@xn--bcher-kva.test` }
  const events = [event, { event_name: 'seen', email: `${name}@bücher.test` }]
  const answer = await post('/v1/automation/events/batch', { events }, uniqueName('key'))
  expect(answer.text).toContain(`${name}@bücher.test`)
  await erase(event)
  expect(await traces(db, name)).toEqual([])
})

const SPACES = ' \u00a0\u3000\ufeff'
test('who is written with spaces around the address goes too, also out of mail of before, which kept them', async () => {
  const { email } = await leavers.leaver()
  const written = `${SPACES}${email}${SPACES}`
  const others = [`${SPACES}b@example.test `, `Bob <b2@example.test>${SPACES}`]
  const send = async (more: object) => {
    const mail = { from: 'a@sender.test', to: written, subject: 'S', text: 'T', ...more }
    const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
    return body.id
  }
  // Mail whose other recipients have not got it yet is waited for, unless it is scheduled.
  const scheduled_at = Date.now() + 86_400_000
  const named = { cc: [written, ...others], bcc: `Ada <${email}>${SPACES}`, reply_to: written }
  const ids = [await send({ ...named, scheduled_at }), await send({})]
  await sql`update emails set "to" = array[${written}], cc = array[${written}, ${others[0]}, ${others[1]}],
    "from" = ${` ${email} <a@sender.test>${SPACES}`} where id = ${ids[1]}`.execute(db)
  await erase({ email })
  expect(await traces(db, email)).toEqual([])
  const { rows } = await sql<{
    cc: string[]
  }>`select cc from emails where id = any(${ids})`.execute(db)
  expect(rows.map(({ cc }) => cc.map((one) => one.trim()))).toEqual([
    ['b@example.test', 'Bob <b2@example.test>'],
    ['b@example.test', 'Bob <b2@example.test>'],
  ])
})
