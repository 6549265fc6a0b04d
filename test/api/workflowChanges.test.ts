// Workflows changed by versions: design, status, name, many at once.
import { describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign, unfinished } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create, patch, get, startedBy, listItem } = createWorkflowClient(api)

describe('PATCH', () => {
  it('answers as operation 10 says and moves `updated`', async () => {
    const made = await create()
    const { status, body } = await patch(made.workflow_id, { name: 'New_name-2' })
    const { data, ...fields } = listItem(made)
    expect(status).toBe(200)
    expect(body).toEqual({
      ...fields,
      name: 'New_name-2',
      updated: body.updated,
      current_version: 1,
      active_version: 0,
    })
    expect(body.updated).toBeGreaterThan(made.updated)
  })

  it('makes a version of a changed design alone, and activates what is valid', async () => {
    const { workflow_id: id } = await create({ design: unfinished })
    const eventName = uniqueName('e')
    expect((await patch(id, { status: 'active' })).body).toMatchObject({ code: 'invalid_design' })
    expect((await get(id)).body).toMatchObject({ status: 'draft', current_version: 1 })
    const design = exitDesign(eventName)
    expect((await patch(id, { design })).body).toMatchObject({
      current_version: 2,
      active_version: 0,
    })
    expect(await startedBy(eventName)).toBe(0)
    const active = await patch(id, { status: 'active', design })
    expect(active.body).toMatchObject({ status: 'active', current_version: 2, active_version: 2 })
    expect(await startedBy(eventName)).toBe(1)
  })

  it('of an active one needs a valid design, and new executions run it at once', async () => {
    const [first, second] = [uniqueName('e'), uniqueName('e')]
    const made = await create({ status: 'active', design: exitDesign(first) })
    const { workflow_id: id } = made
    expect((await patch(id, { design: unfinished })).status).toBe(400)
    expect((await get(id)).body).toEqual(made)
    expect(await startedBy(first)).toBe(1)
    const changed = await patch(id, { design: exitDesign(second) })
    expect(changed.body).toMatchObject({ current_version: 2, active_version: 2 })
    expect([await startedBy(first), await startedBy(second)]).toEqual([0, 1])
  })

  it.each(['paused', 'draft'])(
    'to %s stops triggering, and back to active starts again',
    async (status) => {
      const eventName = uniqueName('e')
      const { workflow_id: id } = await create({ status: 'active', design: exitDesign(eventName) })
      expect((await patch(id, { status })).body).toMatchObject({ status, active_version: 1 })
      expect(await startedBy(eventName)).toBe(0)
      await patch(id, { status: 'active' })
      expect(await startedBy(eventName)).toBe(1)
    },
  )

  it('refuses an old expected_version with 409 and changes nothing', async () => {
    const made = await create()
    const { workflow_id: id } = made
    const refused = await patch(id, { name: 'x', expected_version: 2 })
    expect(refused).toMatchObject({ status: 409, body: { code: 'version_conflict' } })
    expect((await get(id)).body).toEqual(made)
    expect((await patch(id, { name: 'x', expected_version: 1 })).status).toBe(200)
  })

  it('gives every one of many changes at once its own version', async () => {
    const { workflow_id: id } = await create()
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => patch(id, { design: exitDesign(`e${i}`) })),
    )
    expect(answers.map((answer) => answer.body.current_version).sort()).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9,
    ])
  })

  it.each([{}, { unknown: 1 }, { expected_version: 1 }])(
    'with nothing to change (%j) is a 400',
    async (body) => {
      const { workflow_id: id } = await create()
      expect(await patch(id, body)).toMatchObject({
        status: 400,
        body: { error: 'One of name, status and design is required' },
      })
    },
  )

  it.each([
    ['', 'invalid_json'],
    ['{', 'invalid_json'],
    ['[]', 'invalid_request'],
  ])('with the body %j is a 400', async (body, code) => {
    const { workflow_id: id } = await create()
    expect(await patch(id, body)).toMatchObject({ status: 400, body: { code } })
  })
})
