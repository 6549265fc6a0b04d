// What a message needs is asked while it comes, by the sender that is expected: what is true of the message itself decides.
import { expect, onTestFinished, test, vi } from 'vitest'
import { FRESH_MS } from '../../commands/emails/factsAhead.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { idOf, logIn, messageOf, startTestSubmission } from '../setup/submission.ts'
import { uniqueName } from '../setup/unique.ts'
import { toWire } from '../unit/inbound/client.ts'

const api = await createTestApi()
const { port } = await startTestSubmission(api)

/** Begins a message, up to its DATA. @param sender of the envelope */
async function begin(sender: string) {
  const client = await logIn(port, api.key)
  onTestFinished(() => client.close())
  const again = async () => {
    for (const line of [`MAIL FROM:<${sender}>`, 'RCPT TO:<ada@example.test>', 'DATA'])
      expect(await client.say(line)).toMatch(/^[23]/)
  }
  await again()
  const end = (from: string) => client.say(toWire(messageOf({ From: from })))
  return { end, again }
}

const newDomain = async () => {
  const name = `${uniqueName('ahead')}.test`
  return { name, id: await insertTestDomain(api, name) }
}
const domainOf = async (reply: string) =>
  (
    await api.db
      .selectFrom('emails')
      .select('domain_id')
      .where('id', '=', idOf(reply))
      .executeTakeFirstOrThrow()
  ).domain_id

test('the domain of the message counts, not that of its envelope or of the message before', async () => {
  const [one, other] = [await newDomain(), await newDomain()]
  const { end, again } = await begin(`bounces@${other.name}`)
  expect(await domainOf(await end(`a@${one.name}`))).toBe(one.id)
  await again()
  expect(await domainOf(await end(`a@${other.name}`))).toBe(other.id)
  await again()
  expect(await domainOf(await end(`a@${other.name}`))).toBe(other.id)
})

test('an envelope without a sender is no hindrance', async () => {
  const { name, id } = await newDomain()
  const { end } = await begin('')
  expect(await domainOf(await end(`a@${name}`))).toBe(id)
})

test('a domain that is deleted while a message comes slowly sends nothing', async () => {
  const { name, id } = await newDomain()
  const { end } = await begin(`a@${name}`)
  expect((await api.request('DELETE', `/v1/domains/${id}`)).status).toBe(204)
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + FRESH_MS + 1)
  onTestFinished(() => clock.mockRestore())
  expect(await end(`a@${name}`)).toMatch(/^550 .*domain/)
  const rows = api.db.selectFrom('emails').select('id').where('domain_id', '=', id)
  expect(await rows.execute()).toEqual([])
})
