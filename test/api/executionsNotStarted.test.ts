// A list of waiting executions while very many others have not been started.
import { expect, test } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createApiWithEngine, type ExecutionPage, waitingDesign } from '../setup/apiEngine.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, newContact, post, withoutStarter } = await createApiWithEngine()

test('asks Temporal for no execution that cannot wait, however many have not been started', async () => {
  const eventName = uniqueName('begun')
  const id = await flow(waitingDesign(eventName))
  const [waits = ''] = await post(eventName, newContact())
  await engine().waiting(waits, 'wait')
  await withoutStarter(async () => {
    for (let i = 0; i < 60; i++) await post(eventName, newContact())
    const asked: string[] = []
    const counting = createApp({
      ...api.deps,
      temporal: {
        ...api.deps.temporal,
        describe: (executionId) => {
          asked.push(executionId)
          return api.deps.temporal.describe(executionId)
        },
        listRunning: (workspaceId, ids) => {
          asked.push(...ids)
          return api.deps.temporal.listRunning(workspaceId, ids)
        },
      },
    })
    const headers = { authorization: `Bearer ${api.key}` }
    const path = `/v1/workflows/${id}/executions?status=WAITING`
    const { executions } = (await (
      await counting.request(path, { headers })
    ).json()) as ExecutionPage
    expect(executions.map((row) => row.execution_id)).toEqual([waits])
    expect(asked).toEqual([waits])
  })
})
