// A scheduled email of which one recipient is erased: it still shows that it waits, and can be cancelled.
import { expect, test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'

const api = await createTestApi()
const { contact, erase } = erasing(api)
await insertTestDomain(api, 'sender.test')

test('scheduled mail of which one recipient is erased shows that it waits for its time', async () => {
  const [one, other] = [await contact(), await contact()]
  const at = Date.now() + 3_600_000
  const mail = { from: 'a@sender.test', to: [one, other], subject: 'S', text: 'T' }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', {
    ...mail,
    scheduled_at: at,
  })
  expect(await erase(one)).toBe('completed')
  const path = `/v1/emails/${body.id}`
  const shown = { status: 'scheduled', scheduled_at: at }
  expect((await api.request('GET', `${path}?expand=details`)).body).toMatchObject(shown)
  const listed = await api.request('GET', '/v1/emails?status=scheduled&expand=details')
  expect(listed.body).toMatchObject({ emails: [{ id: body.id, ...shown }] })
  expect((await api.request('POST', `${path}/cancel`)).status).toBe(200)
  const cancelled = await api.request('GET', `${path}?expand=details`)
  expect(cancelled.body).toMatchObject({ status: 'settled' })
})
