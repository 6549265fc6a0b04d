// Mail to the team about a contact who is erased: what waits is cancelled with the contact's own, and what stays names them no more.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { bringTo } from '../setup/states.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { storeLinks } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post } = await createApiWithEngine()
const { db } = api

beforeAll(async () => {
  const body = { url: 'https://hooks.example.test/in', events: ['*'] }
  await api.request('POST', '/v1/webhooks', body)
})

/** Sends mail that names a new contact. */
async function sent(to: object) {
  const eventName = uniqueName('event')
  const name = uniqueName('countess')
  const email = `${uniqueName('ada')}@person.test`
  const data = { ...to, html: '<p>{{ contact.email }} {{ properties.name }}</p>' }
  const nodes = {
    start: onEvent(eventName),
    hello: mail('New lead {{ contact.email }} {{ properties.name }}', data),
    end: ['exit', {}] as [string, Record<string, unknown>],
  }
  await flow(
    design(nodes, [
      ['start', 'hello'],
      ['hello', 'end'],
    ]),
  )
  const known = { event_name: 'seen', email, contact_properties: { name } }
  await api.request('POST', '/v1/automation/events', known)
  const [executionId = ''] = await post(eventName, email)
  await engine().ended(executionId, 'COMPLETED')
  const { id: emailId } = await db
    .selectFrom('emails')
    .select('id')
    .where('execution_id', '=', executionId)
    .executeTakeFirstOrThrow()
  const erase = async () => {
    const answer = await api.request('DELETE', `/v1/automation/contacts/${email}`)
    expect(answer.status).toBe(204)
  }
  return { email, name, emailId, erase }
}

const team = () => `${uniqueName('team')}@sender.test`

const statesOf = async (emailId: string) => {
  const { rows } = await sql<{ state: string; recipient: string }>`
    select state, recipient from deliveries where email_id = ${emailId} order by id`.execute(db)
  return rows.map(({ state, recipient }) => `${state} ${recipient.replace(/-[0-9]+$/, '')}`)
}

/** What webhooks were told of a mail. */
const toldOf = async (emailId: string) => {
  const { rows } = await sql<{ type: string; subject: string | null; recipient: string }>`
    select type, data->>'subject' as subject, data->>'recipient' as recipient from webhook_events
    where data->>'email_id' = ${emailId} and type <> 'email.sent' order by id`.execute(db)
  return rows
}

/** A lane takes its deliveries, or gives them back. */
const lease = async (emailId: string, isTaken: boolean) => {
  const token = isTaken ? randomUUID() : null
  await sql`update deliveries set state = ${isTaken ? 'sending' : 'queued'}, lease_token = ${token}::uuid,
    fence = coalesce(${token}::uuid, fence), lease_until = case when ${isTaken} then now() + interval '1 minute' end
    where email_id = ${emailId}`.execute(db)
}

test('what waits for the team is cancelled in the answer, and webhooks hear of it without the contact', async () => {
  const boss = team()
  const { email, name, emailId, erase } = await sent({ to: boss })
  await erase()
  expect(await statesOf(emailId)).toEqual([`cancelled ${boss}`])
  expect(await carryOnErasing(api.deps)).toBe('completed')
  expect(await traces(db, email, name)).toEqual([])
  expect(await toldOf(emailId)).toEqual([{ type: 'email.cancelled', subject: '', recipient: boss }])
  const shown = await api.request('GET', `/v1/emails/${emailId}`)
  expect(shown.body).toMatchObject({ to: [boss], subject: '' })
})

test('what the team has got stays as a row without content, and its links lead nowhere', async () => {
  const boss = team()
  const { email, name, emailId, erase } = await sent({ to: boss })
  await bringTo(db, { emailId }, 'delivered', new Date())
  const link = `https://crm.test/leads/${name}`
  await storeLinks(api.deps, [{ email_id: emailId, urls: [link] }])
  await sql`insert into email_events (email_id, workspace_id, recipient, status, at, data)
    values (${emailId}, ${api.workspaceId}, ${boss}, 'clicked', now(),
      jsonb_build_object('link', ${link}::text))`.execute(db)
  await erase()
  expect(await carryOnErasing(api.deps)).toBe('completed')
  expect(await traces(db, email, name)).toEqual([])
  expect(await statesOf(emailId)).toEqual([`delivered ${boss}`])
  expect(await toldOf(emailId)).toEqual([{ type: 'email.clicked', subject: null, recipient: boss }])
})

test('a copy for the team that waits is cancelled with the mail of the contact', async () => {
  const copied = team()
  const { email, name, emailId, erase } = await sent({ cc: copied, category: 'transactional' })
  await erase()
  expect(await statesOf(emailId)).toEqual([`cancelled ${email}`, `cancelled ${copied}`])
  expect(await carryOnErasing(api.deps)).toBe('completed')
  expect(await traces(db, email, name)).toEqual([])
  expect(await statesOf(emailId)).toEqual(['cancelled erased', `cancelled ${copied}`])
  const told = await toldOf(emailId)
  expect(told.map(({ type, recipient }) => `${type} ${recipient.replace(/-[0-9]+$/, '')}`)).toEqual(
    ['email.cancelled erased', `email.cancelled ${copied}`],
  )
})

test('the job waits for what a lane has, and cancels what it gives back', async () => {
  const [one, two] = [await sent({ to: team() }), await sent({ to: team() })]
  await lease(one.emailId, true)
  await lease(two.emailId, true)
  await one.erase()
  await two.erase()
  expect(await carryOnErasing(api.deps)).toBe('running')
  await bringTo(db, { emailId: one.emailId }, 'delivered', new Date())
  await lease(two.emailId, false)
  expect(await carryOnErasing(api.deps)).toBe('completed')
  expect((await statesOf(two.emailId)).map((state) => state.split(' ')[0])).toEqual(['cancelled'])
  expect((await statesOf(one.emailId)).map((state) => state.split(' ')[0])).toEqual(['delivered'])
  expect(await traces(db, one.email, one.name, two.email, two.name)).toEqual([])
})
