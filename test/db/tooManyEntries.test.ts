// How often one contact enters one workflow, whatever starts it.

import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startExecution } from '../../commands/executions/start.ts'
import { limits } from '../../rules/limits.ts'
import { parseConfig } from '../../runtime/config.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'

const { db, url } = await createTestDatabase()
const config = parseConfig({
  NODE_ENV: 'test',
  DATABASE_URL: url,
  SECRET_KEY: TEST_SECRET_KEY,
  SMTP_URL: 'smtp://127.0.0.1:1',
})
const deps = { db, config, newId, now, addressMac: await addressMacOf(db), wake: () => undefined }
const EMAIL = 'ann@example.test'

test('a contact who has entered 100 times within an hour is let in neither by an event nor by hand', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const flow = design({ start: onEvent('began'), end: ['exit', {}] }, [['start', 'end']])
  const workflowId = await insertFlow(db, workspace, flow)
  const reach = { workspaceId, domainId: null }
  const begin = () => recordEvent(db, workspaceId, { eventName: 'began', email: EMAIL })
  const byHand = () => startExecution(deps, reach, { workflowId, email: EMAIL, properties: {} })
  const { contactId, executionIds } = await begin()
  expect(executionIds).toHaveLength(1)
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, created_at, updated_at)
    select 'exe_' || n, ${workspaceId}, ${workflowId}, 1, ${contactId}, ${EMAIL}, 'start', ${now()}, ${now()}
    from generate_series(2, ${limits.entriesPerHourMax - 1}::int) n`.execute(db)
  expect(await byHand()).toMatchObject({ workflow_id: workflowId })
  expect(await byHand()).toMatchObject({
    code: 're_entry_refused',
    nodeId: 'start',
    mode: null,
  })
  expect((await begin()).executionIds).toEqual([])
})
