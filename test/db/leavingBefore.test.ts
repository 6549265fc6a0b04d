// What the release before still writes while this one runs: no leave of it is lost, and nobody waits for a process that froze.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { prepareOptOutsLater } from '../../commands/opt-outs/prepare.ts'
import { takeOverMail, takeOverWorkflows } from '../../commands/opt-outs/takeOver.ts'
import { settleDueLeaves } from '../../commands/unsubscribes/settleDue.ts'
import {
  lockUncopiedAudiences,
  lockUncopiedWorkflows,
  lockUnlooked,
} from '../../db/opt-outs/takeOver.ts'
import { clickToken } from '../../mail/tracking/tokens.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers, type Leaver, type WaitingMail } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'
import { storeLinks } from '../setup/trackedMail.ts'

let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps, workspaceId } = api
const { mail, leaver, waiting, claim, visit, isCancelled } = await createLeavers(api)

beforeEach(async () => {
  time += 3_600_000
  await sql`truncate deliveries, outbox, workflow_unsubscribes`.execute(db)
})

/** Somebody with a mail that arrived half a minute ago. */
async function reader() {
  const one = await leaver()
  const read = await mail(one)
  await bringTo(db, { ids: [read.deliveryId] }, 'delivered', new Date(time))
  time += 30_000
  return { ...one, read }
}

/** Follows three links within a moment, as a scanner does. */
async function scan({ emailId, deliveryId }: WaitingMail) {
  const urls = [0, 1, 2].map((i) => `https://x.test/${i}`)
  await storeLinks(deps, [{ email_id: emailId, urls }])
  const mac = deps.secrets.mac('tracking')
  for (const i of [0, 1, 2]) await api.app.request(`/t/c/${clickToken(mac, deliveryId, i)}`)
}

/** The row that an API of the release before writes. */
const leftBefore = ({ workflowId, email }: Omit<Leaver, 'begin'>, unconfirmed: string | null) =>
  sql`
  insert into workflow_unsubscribes (workflow_id, contact_id, workspace_id, created_at, unconfirmed_email_id)
  select ${workflowId}, id, workspace_id, ${new Date(time)}, ${unconfirmed} from contacts
  where workspace_id = ${workspaceId} and email = ${email}`.execute(db)

test('a certain leave there makes an unconfirmed one certain, which is carried out', async () => {
  const one = await reader()
  await visit('GET', one.read)
  await leftBefore(one, null)
  await takeOverWorkflows(deps)
  await scan(one.read)
  expect(await one.begin()).toEqual([])
  time += 60_000
  await settleDueLeaves(deps, (err) => {
    throw err
  })
  expect(await isCancelled(one)).toBe(true)
})

test('one that is confirmed there after it was copied is not undone by a scanner', async () => {
  const one = await reader()
  await leftBefore(one, one.read.emailId)
  await takeOverWorkflows(deps)
  await sql`update workflow_unsubscribes set unconfirmed_email_id = null`.execute(db)
  await scan(one.read)
  expect(await one.begin()).toEqual([])
})

test('one that nobody confirmed there is undone, whatever was left and taken back long ago', async () => {
  const one = await reader()
  await leftBefore(one, null)
  await takeOverWorkflows(deps)
  await visit('POST', one.read, '/undo')
  time += 60_000
  await visit('GET', one.read)
  await scan(one.read)
  expect(await one.begin()).toHaveLength(1)
})

test('mail under way is filled in when it waits again', async () => {
  const one = await waiting()
  const { deliveryId } = one.receipt
  await claim()
  await sql`update deliveries set marketing = null where id in (${deliveryId}, ${one.queued.deliveryId})`.execute(
    db,
  )
  const isFilled = async () => {
    await takeOverMail(deps)
    const filled = db.selectFrom('deliveries').select('marketing').where('id', '=', deliveryId)
    return (await filled.executeTakeFirstOrThrow()).marketing
  }
  expect(await isFilled()).toBe(null)
  await sql`update deliveries set state = 'deferred', lease_token = null, lease_until = null`.execute(
    db,
  )
  expect(await isFilled()).toBe(false)
})

test.each([
  ['workflows', lockUncopiedWorkflows],
  ['audiences', lockUncopiedAudiences],
  ['mail', lockUnlooked],
])('Postgres ends the take-over of %s if its process freezes', async (_name, lock) => {
  await db.transaction().execute(async (trx) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
    await lock(trx as Parameters<typeof lock>[0], 1)
    const { rows } = await sql`show idle_in_transaction_session_timeout`.execute(trx)
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '10s' }])
  })
})

test('an API listens although another process still copies, and answers when that is done', async () => {
  const one = await reader()
  await leftBefore(one, null)
  const stopping = new AbortController()
  const hooks = {
    signal: stopping.signal,
    onFailure: (err: unknown) => {
      throw err
    },
  }
  const prepared = await db.transaction().execute(async (trx) => {
    await sql`select from workflow_unsubscribes for update`.execute(trx)
    const later = prepareOptOutsLater(deps, hooks)
    await later.first
    expect(() => later.addressMac(workspaceId, one.email)).toThrow('not loaded')
    return later
  })
  const ours = deps.addressMac(workspaceId, one.email)
  await expect.poll(() => prepared.addressMac(workspaceId, one.email)).toEqual(ours)
  stopping.abort()
})
