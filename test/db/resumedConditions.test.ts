// How much the conditions may hold that each event of a workspace meets, when workflows are taken up again that were paused.
import { expect, test } from 'vitest'
import { createSegment } from '../../commands/segments/create.ts'
import { createTestApi } from '../setup/api.ts'
import { large, startsAt } from '../setup/contactSegments.ts'
import { design, insertFlow } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

test('a workspace that has more takes up again what it pauses, at events and at segments', async () => {
  const api = await createTestApi()
  const { workspaceId } = api
  const withFilter = (kib: number) =>
    design(
      {
        start: ['trigger', { kind: 'event', event_name: uniqueName('paid'), filter: large(kib) }],
        end: ['exit', {}],
      },
      [['start', 'end']],
    )
  const segment = await createSegment(api.deps, workspaceId, { name: 'S', condition: large(240) })
  const id: string[] = []
  const designs = [withFilter(10), startsAt('segment_entered', String(segment))]
  for (const given of designs) {
    const body = { name: 'W', status: 'active', design: given }
    const made = await api.request<{ workflow_id: string }>('POST', '/v1/workflows', body)
    expect(made).toMatchObject({ status: 201 })
    id.push(made.body.workflow_id)
  }
  // As a release before has let others become.
  const other = await insertFlow(api.db, api, withFilter(240))
  await api.db
    .updateTable('workflow_triggers')
    .set({ filter: JSON.stringify(large(3 * 1024)) })
    .where('workflow_id', '=', other)
    .execute()
  const more = await createSegment(api.deps, workspaceId, { name: 'S', condition: large(240) })
  await api.db
    .updateTable('segments')
    .set({ kept: true, condition: JSON.stringify(large(3 * 1024)) })
    .where('id', '=', String(more))
    .execute()
  const change = (n: number, body: object) => api.request('PATCH', `/v1/workflows/${id[n]}`, body)
  for (const [n, given] of designs.entries()) {
    expect(await change(n, { status: 'paused' })).toMatchObject({ status: 200 })
    // The same design once more is no other version.
    const answer = await change(n, { status: 'active', design: given })
    expect(answer).toMatchObject({ status: 200, body: { status: 'active', active_version: 1 } })
  }
  // A version that was never active is refused as before.
  await change(0, { status: 'paused', design: withFilter(11) })
  const refused = await change(0, { status: 'active' })
  expect(refused).toMatchObject({ status: 400, body: { problems: [{ code: 'too_large' }] } })
})

test.each(['events', 'segments'])(
  'workflows that were active in turn are not all taken up again: at %s',
  async (at) => {
    const api = await createTestApi()
    const withFilter = design(
      {
        start: ['trigger', { kind: 'event', event_name: uniqueName('paid'), filter: large(240) }],
        end: ['exit', {}],
      },
      [['start', 'end']],
    )
    const condition = large(240)
    const atSegment = async () => {
      const segment = await createSegment(api.deps, api.workspaceId, { name: 'S', condition })
      return startsAt('segment_entered', String(segment))
    }
    const ids: string[] = []
    const change = (id: string, status: string) =>
      api.request('PATCH', `/v1/workflows/${id}`, { status })
    // Three times what may be active.
    for (let n = 0; n < 26; n++) {
      const given = at === 'events' ? withFilter : await atSegment()
      const body = { name: 'W', status: 'active', design: given }
      const made = await api.request<{ workflow_id: string }>('POST', '/v1/workflows', body)
      expect(made).toMatchObject({ status: 201 })
      ids.push(made.body.workflow_id)
      await change(made.body.workflow_id, 'paused')
    }
    const answers: Awaited<ReturnType<typeof change>>[] = []
    for (const id of ids) answers.push(await change(id, 'active'))
    // 4 MiB.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(17)
    expect(answers.at(-1)).toMatchObject({
      status: 400,
      body: { problems: [{ code: 'too_large', message: expect.stringContaining('4 MiB') }] },
    })
  },
)
