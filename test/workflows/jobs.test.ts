// Jobs on Temporal: carried on when they are new, resumed, ended from outside or interrupted, and no page is done twice.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eraseContact } from '../../commands/contacts/erase.ts'
import { moveJob } from '../../commands/jobs/move.ts'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { createWebhook } from '../../commands/webhooks/create.ts'
import { replaySince } from '../../commands/webhooks/replaySince.ts'
import { findJob } from '../../db/jobs/reads.ts'
import { limits } from '../../rules/limits.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { parseConfig } from '../../runtime/config.ts'
import { createLog } from '../../runtime/log.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { startJobs } from '../../worker/jobs.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { recordEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()
const { db } = database
const config = parseConfig({
  DATABASE_URL: database.url,
  SECRET_KEY: TEST_SECRET_KEY,
  SMTP_URL: 'smtp://127.0.0.1:1',
})
const secrets = createSecrets(config.secretKey)
const addressMac = await addressMacOf(db)
const deps = { db, newId, now, secrets, wake: () => undefined, config, addressMac }

let engine: Engine
/** What comes before each page. */
let before: (id: string) => Promise<void> = async () => undefined
let jobs: ReturnType<typeof startJobs>
beforeAll(async () => {
  engine = await startEngine(database, {
    around: () => ({
      runJobPage: async ({ jobId }) => {
        await before(jobId)
        return runJobPage(deps, { id: jobId })
      },
    }),
  })
  jobs = startJobs({ db, client: engine.client, log: createLog('test', 'silent') })
})
afterAll(async () => {
  await jobs?.stop()
  await engine?.stop()
})

const reach = () => wholeWorkspace(engine.workspaceId)

/** A replay of so many deliveries. */
async function makeJob(count: number): Promise<string> {
  const made = await createWebhook(deps, reach(), {
    url: 'https://hooks.example.test/in',
    events: ['webhook.disabled'],
  })
  if (isRefusal(made)) throw new Error(made.code)
  await sql`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      select webhook_id(), ${engine.workspaceId}, 'webhook.test', now(), '{}' from generate_series(1, ${count})
      returning id
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, next_at, created_at)
    select webhook_id(), ${made.id}, id, ${engine.workspaceId}, 'succeeded', null, now() - interval '1 minute' from event
  `.execute(db)
  const id = await replaySince(deps, reach(), { id: made.id, since: 0 })
  if (typeof id !== 'string') throw new Error(id.code)
  return id
}
const read = (id: string) => findJob(db, reach(), id)
const becomes = (id: string, shape: object) =>
  eventually(async () => expect(await read(id)).toMatchObject(shape), { deadline_ms: 60_000 })

test('a new job is carried out', async () => {
  const id = await makeJob(1_100)
  await becomes(id, { status: 'completed', done: 1_100, total: 1_100, counts: { replayed: 1_100 } })
})

test('a page that fails is tried again, and a run that is ended from outside goes on', async () => {
  let failed = 0
  let ended = false
  before = async (id) => {
    const job = await read(id)
    if (job?.done === 500 && failed++ === 0) throw new Error('the database is away')
    if (job?.done === 1_000 && !ended) {
      ended = true
      await engine.client.workflow.getHandle(id).terminate()
      throw new Error('its run is gone')
    }
  }
  const id = await makeJob(1_600)
  await becomes(id, { status: 'completed', done: 1_600, counts: { replayed: 1_600 } })
  expect([failed > 0, ended]).toEqual([true, true])
  before = async () => undefined
})

test('a paused job stands still until it is resumed', async () => {
  before = async (id) => {
    if ((await read(id))?.done !== 500) return
    await moveJob(deps, reach(), { id, move: 'pause' })
  }
  const id = await makeJob(1_100)
  await becomes(id, { status: 'paused' })
  await eventually(async () => {
    const { status } = await engine.client.workflow.getHandle(id).describe()
    expect(status.name).toBe('COMPLETED')
  })
  expect(await read(id)).toMatchObject({ status: 'paused', done: 500 })
  before = async () => undefined
  await moveJob(deps, reach(), { id, move: 'resume' })
  await becomes(id, { status: 'completed', done: 1_100 })
})

test('a replay waits on a timer while much waits for its endpoint, and then goes on', async () => {
  const id = await makeJob(700)
  const { webhook_id: webhookId = '' } = ((await read(id))?.input ?? {}) as { webhook_id?: string }
  before = async (asked) => {
    if (asked !== id || (await read(id))?.done !== 500) return
    before = async () => undefined
    await sql`
      with event as (
        insert into webhook_events (id, workspace_id, type, at, data)
        values (webhook_id(), ${engine.workspaceId}, 'webhook.test', now(), '{}') returning id
      )
      insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, next_at, created_at)
      select webhook_id(), ${webhookId}, id, ${engine.workspaceId}, 'pending', now(), now()
      from event cross join generate_series(1, ${limits.webhookReplayPendingMax}::int)
    `.execute(db)
  }
  await eventually(
    async () => {
      const { events } = await engine.client.workflow.getHandle(id).fetchHistory()
      expect(events?.some((event) => event.timerStartedEventAttributes)).toBe(true)
    },
    { deadline_ms: 60_000 },
  )
  expect(await read(id)).toMatchObject({ status: 'running', done: 500 })
  await sql`update webhook_deliveries set state = 'succeeded', next_at = null
    where webhook_id = ${webhookId}`.execute(db)
  await becomes(id, { status: 'completed', done: 700 })
})

test('erasures whose pages always fail keep no other from its turn', async () => {
  const erase = async (secretKey?: Buffer) => {
    const email = `${uniqueName('ada')}@person.test`
    await recordEvent(db, engine.workspaceId, { eventName: 'seen', email })
    const of = secretKey ? { ...deps, secrets: createSecrets(secretKey) } : deps
    const id = await eraseContact(of, engine.workspaceId, { email })
    if (typeof id !== 'string') throw new Error(id.code)
    return id
  }
  // As those whose key was dropped while they went on.
  const dropped = randomBytes(32)
  const stuck = [await erase(dropped), await erase(dropped)]
  const last = await erase()
  await becomes(last, { status: 'completed' })
  // They go on when their key is listed again, so they have not failed.
  for (const id of stuck) expect(await read(id)).toMatchObject({ status: 'queued', refusals: 0 })
})
