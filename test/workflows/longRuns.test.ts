// A run that continues as new takes along only what it may still need.
import { defaultPayloadConverter } from '@temporalio/common'
import { expect, onTestFinished, test } from 'vitest'
import type { RunExecutionInput } from '../../workflows/messages.ts'
import { createTestDatabase } from '../setup/database.ts'
import { startEngine } from '../setup/engine.ts'
import { design, onEvent } from '../setup/flows.ts'
import { startPrivateTemporal } from '../setup/servers.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()

test('waits that events have ended are not passed on', async () => {
  const temporal = await startPrivateTemporal({ 'limit.historyCount.suggestContinueAsNew': 1 })
  const { address } = temporal
  const engine = await startEngine(database, { temporal: { address, namespace: 'default' } })
  onTestFinished(() => engine.stop())
  const name = uniqueName('went')
  const wait = (at: string): [string, Record<string, unknown>] => [
    'wait_for_event',
    { event_name: `${name}.${at}` },
  ]
  const { id, email } = await engine.run(
    design({ start: onEvent('x'), one: wait('one'), two: wait('two'), three: wait('three') }, [
      ['start', 'one'],
      ['one', 'two', 'received'],
      ['two', 'three', 'received'],
    ]),
  )
  await engine.waiting(id, 'one')
  await engine.post(`${name}.one`, email)
  await engine.waiting(id, 'two')
  await engine.post(`${name}.two`, email)
  await engine.waiting(id, 'three')
  const { events } = await engine.client.workflow.getHandle(id).fetchHistory()
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
  if (!payload) throw new Error('the run has no input')
  const input = defaultPayloadConverter.fromPayload<RunExecutionInput>(payload)
  expect(input).toMatchObject({ segment: 3, wait: { nodeId: 'three', segment: 2 } })
  expect(input.woken).toEqual([])
})
