// Nobody meets contacts of a deleted audience whose rows are there yet: conditions, schedules, who leaves, webhooks; an erasure takes them too.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { deleteAudience } from '../../commands/audiences/delete.ts'
import { unsubscribeFromAudiences } from '../../commands/audiences/leaveAll.ts'
import type { CommandDeps } from '../../commands/deps.ts'
import { turnSchedule } from '../../commands/schedules/turn.ts'
import { transact } from '../../commands/transact.ts'
import {
  findAudienceEmails,
  listAudienceContacts,
  listAudiencesOf,
} from '../../db/audiences/contactReads.ts'
import type { Trx } from '../../db/connect.ts'
import { listMemberships } from '../../db/executions/facts.ts'
import { createTestApi } from '../setup/api.ts'
import { createSegmentWorld } from '../setup/contactSegments.ts'
import { forgetAll, rowsOf } from '../setup/deletedAudiences.ts'
import { insertAudience, insertScheduled, memberEmail } from '../setup/schedules.ts'

const api = await createTestApi()
const { db } = api

/** What webhooks of everything were told about audiences. */
const told = async () =>
  (
    await sql<{ type: string; audience: string; email: string }>`
      select type, data->>'audience_id' as audience, data->>'email' as email
      from webhook_events where type like 'audience.%' order by id`.execute(db)
  ).rows

test('conditions find nobody in it, and no event makes anybody a member of a segment that reads it', async () => {
  const world = await createSegmentWorld(db)
  const { workspace, workspaceId, deps, segment, begin, fill, members, moves, patch } = world
  const [audience_id, other] = [
    await insertAudience(db, workspace, 3),
    await insertAudience(db, workspace, 1),
  ]
  const email = memberEmail(0)
  await world.post(email, 'seen')
  const id = await segment({
    type: 'and',
    rules: [
      { type: 'audience', audience_id, member: true },
      { type: 'rule', field: 'properties.vip', operator: 'is_true' },
    ],
  })
  await begin('segment_entered', id)
  await fill()
  await deleteAudience(deps as unknown as CommandDeps, workspaceId, { id: audience_id })
  const ask = () =>
    listMemberships(db as unknown as Trx, workspaceId, [email], [audience_id, other])
  expect(await ask()).toEqual(new Map([[email, [other]]]))
  await patch(email, { vip: true })
  await fill()
  expect([await members(id), await moves(email)]).toEqual([[], []])
  expect(await rowsOf(db, audience_id)).toEqual([3, 1])
  await forgetAll(deps)
  expect(await ask()).toEqual(new Map([[email, [other]]]))
})

test('whom a worker of the release before takes for a member, since rows are there yet, is none once they are gone', async () => {
  const world = await createSegmentWorld(db)
  const { workspace, workspaceId, deps, segment, begin, fill, members } = world
  const audience_id = await insertAudience(db, workspace, 1)
  await world.post(memberEmail(0), 'seen')
  const id = await segment({ type: 'audience', audience_id, member: true })
  await begin('segment_entered', id)
  await deleteAudience(deps as unknown as CommandDeps, workspaceId, { id: audience_id })
  await fill()
  expect(await members(id)).toEqual([])
  // As a fill of that worker, which reads the row of the contact, leaves it.
  await sql`insert into segment_members (contact_id, segment_id, workspace_id, generation, is_member)
    select c.id, s.id, s.workspace_id, s.generation, true from contacts c, segments s
    where s.id = ${id} and c.workspace_id = s.workspace_id and c.email = ${memberEmail(0)}
    on conflict (contact_id, segment_id) do update set is_member = true`.execute(db)
  expect(await members(id)).toEqual([memberEmail(0)])
  await forgetAll(deps)
  await fill()
  expect(await members(id)).toEqual([])
})

test('it has no contacts for whoever asks for them', async () => {
  const { workspace, workspaceId, deps } = await createSegmentWorld(db)
  const id = await insertAudience(db, workspace, 3)
  const page = { after: null, limit: 10 }
  const ask = async () => [
    (await listAudienceContacts(db, workspaceId, id, page)).length,
    (await findAudienceEmails(db, workspaceId, id, [memberEmail(0)])).size,
  ]
  expect(await ask()).toEqual([3, 1])
  await deleteAudience(deps as unknown as CommandDeps, workspaceId, { id })
  expect(await ask()).toEqual([0, 0])
})

test('a schedule starts nobody of it, also in the middle of a time', async () => {
  const { workspace, workspaceId, deps, clock } = await createSegmentWorld(db)
  const audience_id = await insertAudience(db, workspace, 250)
  const data = { cron: '0 * * * *', audience_id }
  const workflowId = await insertScheduled(db, workspace, data, deps.now)
  const turn = () => turnSchedule(deps, { workflowId, nodeId: 'start' })
  const starts = async () => {
    const of = db.selectFrom('executions').select('id').where('workflow_id', '=', workflowId)
    return (await of.execute()).length
  }
  await turn()
  clock.ms += 3_600_000
  await turn()
  const started = await starts()
  expect(started).toBeGreaterThan(0)
  expect(started).toBeLessThan(250)
  await deleteAudience(deps as unknown as CommandDeps, workspaceId, { id: audience_id })
  while ((await turn()).kind === 'started');
  clock.ms += 3_600_000
  while ((await turn()).kind === 'started');
  expect(await starts()).toBe(started)
})

test('who leaves everything leaves none that is deleted', async () => {
  const { workspace, workspaceId, deps } = await createSegmentWorld(db)
  const [gone, there] = [
    await insertAudience(db, workspace, 1),
    await insertAudience(db, workspace, 1),
  ]
  await deleteAudience(deps as unknown as CommandDeps, workspaceId, { id: gone })
  expect(await listAudiencesOf(db, workspaceId, memberEmail(0))).toEqual([there])
  await transact(deps, (inTrx) =>
    unsubscribeFromAudiences(
      inTrx,
      workspaceId,
      { email: memberEmail(0), source: 'link' },
      new Date(),
    ),
  )
  const left = await db
    .selectFrom('opt_outs')
    .select('target_id')
    .where('workspace_id', '=', workspaceId)
    .execute()
  expect(left).toEqual([{ target_id: there }])
})

test('an erasure removes them from it, and webhooks hear of neither that nor of the pages', async () => {
  const hook = { url: 'https://hooks.example.test/in', events: ['*'] }
  await api.request('POST', '/v1/webhooks', hook)
  const create = async () =>
    String((await api.request('POST', '/v1/audiences', { name: 'A' })).body['id'])
  const [gone, there] = [await create(), await create()]
  const [ada, eve] = ['ada@person.test', 'eve@person.test']
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: ada })
  for (const id of [gone, there]) {
    for (const email of [ada, eve])
      await api.request('POST', `/v1/audiences/${id}/contacts`, { email })
  }
  const unsubscribed = { email: ada, is_subscribed: false }
  await api.request('POST', `/v1/audiences/${gone}/contacts`, unsubscribed)
  await sql`delete from webhook_events`.execute(db)
  await api.request('DELETE', `/v1/audiences/${gone}`)
  expect((await api.request('DELETE', `/v1/automation/contacts/${ada}`)).status).toBe(204)
  const named = await db.selectFrom('audience_contacts').select(['audience_id', 'email']).execute()
  expect(named.filter(({ email }) => email === ada)).toEqual([])
  expect([await rowsOf(db, gone), await rowsOf(db, there)]).toEqual([
    [1, 1],
    [1, 1],
  ])
  expect((await api.request('GET', `/v1/audiences/${there}`)).body).toMatchObject({
    contact_count: 1,
  })
  await forgetAll(api.deps)
  expect(await rowsOf(db, gone)).toEqual([0, 0])
  expect(await told()).toEqual([{ type: 'audience.left', audience: there, email: '' }])
  await api.request('DELETE', `/v1/audiences/${there}/contacts/${eve}`)
  expect(await told()).toContainEqual({ type: 'audience.left', audience: there, email: eve })
  // As a process of the release before does it.
  await api.request('POST', `/v1/audiences/${there}/contacts`, { email: eve })
  const before = await told()
  await sql`delete from audiences where id = ${there}`.execute(db)
  expect([await rowsOf(db, there), await told()]).toEqual([[0, 0], before])
})
