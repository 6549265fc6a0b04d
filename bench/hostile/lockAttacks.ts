// An attack by locks: a contact's row is held, and events for that contact pile up; half of the clients go away.
import pg from 'pg'
import { type Attack, inLoops } from './attack.ts'
import { createAgent, send } from './client.ts'

const EMAIL = 'held@example.test'
const AT_ONCE = 25
const LEAVE_MS = 1_000

export const heldContact: Attack = async (target, count, stop) => {
  const { port, key, databaseUrl, workspaceId } = target
  const agent = createAgent(AT_ONCE)
  const path = '/v1/automation/events'
  const body = JSON.stringify({ event_name: 'held', email: EMAIL })
  await send(agent, { port, path, key, body })
  const holder = new pg.Client({ connectionString: databaseUrl })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select 1 from contacts where workspace_id = $1 and email = $2 for update', [
    workspaceId,
    EMAIL,
  ])
  await inLoops(AT_ONCE, stop, async (serial) => {
    const leaves = serial % 2 === 0 ? { leaveAfter_ms: LEAVE_MS } : {}
    count((await send(agent, { port, path, key, body, ...leaves })).status || 'left')
  })
  await holder.end()
  agent.destroy()
}
