// A scanner that follows every link of an email does not unsubscribe its reader; a person can, whatever scanners
// do.
import { beforeAll, expect, it } from 'vitest'
import { clickToken } from '../../mail/tracking/tokens.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { bringTo } from '../setup/states.ts'
import { storeLinks } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

let time = Date.now()
const api = await createTestApi({ now: () => new Date(time) })
const { create } = createWorkflowClient(api)
let domain_id: string

beforeAll(async () => {
  domain_id = await insertTestDomain(api, 'sender.test')
})

/** A contact in a workflow with a delivered email that has tracked links. */
async function subscriber() {
  const event_name = uniqueName('begun')
  const { workflow_id } = await create({ status: 'active', design: exitDesign(event_name) })
  const email = `${uniqueName('c')}@example.test`
  const begin = async () => {
    const { body } = await api.request<{ executions: string[] }>('POST', '/v1/automation/events', {
      event_name,
      email,
    })
    return body.executions
  }
  const [execution_id = ''] = await begin()
  const sent = await api.request<{ id: string }>('POST', '/v1/emails', {
    from: 'a@sender.test',
    to: email,
    subject: 'Hello',
    text: 'x',
  })
  const { id } = sent.body
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url')
  await api.db
    .updateTable('emails')
    .set({ workflow_id, execution_id, unsubscribe_token: token, domain_id })
    .where('id', '=', id)
    .execute()
  const [deliveryId = 0] = await bringTo(api.db, { emailId: id }, 'delivered', new Date(time))
  const urls = [0, 1, 2, 3].map((i) => `https://x.test/${i}`)
  await storeLinks(api.deps, [{ email_id: id, urls }])
  time += 30_000
  const click = (index: number) =>
    api.app.request(`/t/c/${clickToken(api.deps.secrets.mac('tracking'), deliveryId, index)}`)
  const visit = (method: string, more = '', headers: Record<string, string> = {}) =>
    api.request(method, `/u/${token}${more}`, undefined, { authorization: '', ...headers })
  const isOut = async () => (await begin()).length === 0
  /** When statistics count that they have unsubscribed by the mail. */
  const countedAt = async () => {
    const kept = api.db.selectFrom('email_firsts').select('at').where('kind', '=', 'unsubscribed')
    const row = await kept.where('delivery_id', '=', deliveryId).executeTakeFirst()
    return row?.at.getTime() ?? null
  }
  return { click, visit, isOut, countedAt }
}

it('GET before the other links: undone by the third link', async () => {
  const { click, visit, isOut } = await subscriber()
  await visit('GET')
  for (const index of [0, 1]) await click(index)
  expect(await isOut()).toBe(true)
  time += 4_000
  await click(2)
  expect(await isOut()).toBe(false)
})

it('statistics count who unsubscribed once, at the first time, and no scanner', async () => {
  const { click, visit, countedAt } = await subscriber()
  await visit('GET')
  expect(await countedAt()).toBe(time)
  for (const index of [0, 1, 2]) await click(index)
  expect(await countedAt()).toBe(null)
  time += 70_000
  await visit('POST')
  const first = time
  expect(await countedAt()).toBe(first)
  // Who undoes it has unsubscribed all the same.
  await visit('POST', '/undo')
  time += 3_600_000
  await visit('POST')
  expect(await countedAt()).toBe(first)
  const since = first - 3_600_000
  const { body } = await api.request<{ buckets: { unsubscribed: number }[] }>(
    'GET',
    `/v1/stats/emails?since=${since}&until=${time + 1}`,
  )
  expect(body.buckets.reduce((sum, { unsubscribed }) => sum + unsubscribed, 0)).toBe(
    (
      await api.db
        .selectFrom('email_firsts')
        .select('at')
        .where('kind', '=', 'unsubscribed')
        .execute()
    ).length,
  )
})

it('GET after the other links: shows the question, and does nothing', async () => {
  const { click, visit, isOut } = await subscriber()
  for (const index of [0, 1, 2]) await click(index)
  time += 30_000
  expect((await visit('GET')).text).toContain('Unsubscribe?')
  expect(await isOut()).toBe(false)
  expect((await visit('POST')).status).toBe(200)
  expect(await isOut()).toBe(true)
})

it('GET together with all links: the reader is still subscribed at the end, whatever came first', async () => {
  for (let round = 0; round < 5; round++) {
    const { click, visit, isOut } = await subscriber()
    await Promise.all([click(0), visit('GET'), click(1), click(2), click(3)])
    expect(await isOut()).toBe(false)
  }
})

it('GET of a known scanner: shows the question', async () => {
  const { visit, isOut } = await subscriber()
  const proxy =
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Firefox/11.0 (via ggpht.com GoogleImageProxy)'
  for (const agent of ['Barracuda Sentinel (EE)', 'Slackbot-LinkExpanding 1.0', proxy]) {
    expect((await visit('GET', '', { 'user-agent': agent })).text).toContain('Unsubscribe?')
  }
  expect(await isOut()).toBe(false)
})

it('the unsubscription stays if fewer links were followed, or more slowly, or a minute later', async () => {
  const { click, visit, isOut } = await subscriber()
  await visit('GET')
  for (const index of [0, 1, 2]) {
    await click(index)
    time += 2_500
  }
  expect(await isOut()).toBe(true)
  time += 60_000
  for (const index of [0, 1, 2]) await click(index)
  expect(await isOut()).toBe(true)
})

it('the unsubscription stays if a POST has confirmed it, before the links or after the GET', async () => {
  const { click, visit, isOut } = await subscriber()
  await visit('GET')
  await visit('POST')
  for (const index of [0, 1, 2, 3]) await click(index)
  expect(await isOut()).toBe(true)
  const other = await subscriber()
  await other.visit('POST')
  await other.visit('GET')
  for (const index of [0, 1, 2, 3]) await other.click(index)
  expect(await other.isOut()).toBe(true)
})

it('another email of the same contact is not affected', async () => {
  const [one, two] = [await subscriber(), await subscriber()]
  await one.visit('GET')
  for (const index of [0, 1, 2, 3]) await two.click(index)
  expect([await one.isOut(), await two.isOut()]).toEqual([true, false])
})
