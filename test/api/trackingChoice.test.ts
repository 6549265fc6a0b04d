// Whether an email is tracked: the domain's settings when it is accepted, and those of the request.
import { describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'

const api = await createTestApi()

describe('whether an email is tracked', () => {
  const flags = (id: string) =>
    api.db
      .selectFrom('emails')
      .select(['track_opens', 'track_clicks', 'tracking_host'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const send = (tracking?: unknown) =>
    api.request<{ id: string }>('POST', '/v1/emails', {
      from: 'a@tracked.test',
      to: 'b@example.test',
      subject: 'x',
      html: 'x',
      tracking,
    })

  it('follows the settings of the domain when it is accepted, unless the request says otherwise', async () => {
    const domainId = await insertTestDomain(api, 'tracked.test')
    const off = { track_opens: false, track_clicks: false, tracking_host: null }
    const set = (
      open_tracking_enabled: boolean,
      click_tracking_enabled: boolean,
      tracking = 'SUCCESS',
    ) =>
      api.db
        .updateTable('domains')
        .set({
          open_tracking_enabled,
          click_tracking_enabled,
          tracking_domain: 'links.tracked.test',
          record_states: { tracking },
        })
        .where('id', '=', domainId)
        .execute()
    await api.db
      .updateTable('domains')
      .set({ open_tracking_enabled: false, click_tracking_enabled: false })
      .where('id', '=', domainId)
      .execute()
    const before = await send()
    await set(true, true)
    expect(await flags(before.body.id)).toEqual(off)
    const on = { track_opens: true, track_clicks: true, tracking_host: 'links.tracked.test' }
    expect(await flags((await send()).body.id)).toEqual(on)
    expect(await flags((await send({ opens: false, x: 1 })).body.id)).toEqual({
      ...on,
      track_opens: false,
    })
    await set(false, false)
    expect(await flags((await send({ clicks: true, opens: null })).body.id)).toEqual({
      ...on,
      track_opens: false,
    })
    await set(true, true, 'HOST_NOT_FOUND')
    const unseen = { ...on, tracking_host: null }
    expect(await flags((await send()).body.id), 'no link to what DNS does not know').toEqual(unseen)
  })

  it.each([
    [true, 'tracking must be an object, not a boolean'],
    [[], 'tracking must be an object, not an array'],
    [{ opens: 'yes' }, 'tracking.opens must be true or false, not "yes"'],
    [{ clicks: 1 }, 'tracking.clicks must be true or false, not 1'],
  ])('%j is refused', async (tracking, message) => {
    expect(await send(tracking)).toMatchObject({
      status: 400,
      body: { message, code: 'invalid_request' },
    })
  })
})
