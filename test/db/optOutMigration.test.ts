// What the release before has left: its unsubscriptions become opt-outs, its waiting mail is looked at, and what it has
// under way it may finish.

import { sql } from 'kysely'
import { expect, inject, onTestFinished, test } from 'vitest'
import {
  takeOverAudiences,
  takeOverMail,
  takeOverWorkflows,
} from '../../commands/opt-outs/takeOver.ts'
import { transact } from '../../commands/transact.ts'
import { connect } from '../../db/connect.ts'
import { migrateUrl } from '../../db/migrate.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { claimInTrx } from '../setup/claims.ts'
import { newId } from '../setup/harness.ts'
import { allLines } from '../setup/queue.ts'
import { databaseUrl, runSql } from '../setup/template.ts'
import { uniqueName } from '../setup/unique.ts'
import { leaveBehind } from '../setup/upgrade.ts'

const OLD_LEASE = '00000000-0000-0000-0000-00000000000a'
const BEFORE = '2026-11-22-09-outbox-turns'

/** A database as the release before left it. */
async function createOldDatabase() {
  const server = inject('postgresUrl')
  const name = uniqueName('m').replaceAll('-', '_')
  await runSql(server, `create database ${name}`)
  const url = databaseUrl(server, name)
  await leaveBehind(url, { recorded: 0, schema: BEFORE, ids: {}, rows: {} }, 0)
  const { db } = connect({ url, poolSize: 4, name: 'test', onIdleError: () => undefined })
  onTestFinished(async () => {
    await db.destroy()
    await runSql(server, `drop database ${name} with (force)`)
  })
  return { url, db }
}

const rowsOfBefore = `
  insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select 'ct_' || i, 'ws_1', 'user' || i || '@example.test', now(), now(), 'x', now(), now()
    from generate_series(1, 4) i;
  insert into workflow_unsubscribes (workflow_id, contact_id, workspace_id, created_at, unconfirmed_email_id) values
    ('wf_1', 'ct_1', 'ws_1', '2026-01-01', null), ('wf_1', 'ct_2', 'ws_1', '2026-01-01', 'em_9'),
    ('wf_1', 'ct_gone', 'ws_1', '2026-01-01', null);
  insert into workspaces (id, name, created_at) values ('ws_1', 'one', now());
  insert into users (id, workspace_id, email, created_at) values ('usr_1', 'ws_1', 'a@b.test', now());
  insert into audiences (id, workspace_id, name, created_by, created_at, updated_at)
    values ('aud_1', 'ws_1', 'News', 'usr_1', now(), now());
  insert into audience_contacts (id, audience_id, workspace_id, email, is_subscribed, created_at, updated_at)
    select 'ac_' || i, 'aud_1', 'ws_1', 'user' || i || '@example.test', i > 2, now(), now()
    from generate_series(1, 4) i;
  insert into emails (id, workspace_id, type, category, "from", "to", subject, domain_id, message_id, workflow_id, created_at)
    select 'em_' || i || c, 'ws_1', 'transactional', c, 'a@b.test', array['user' || i || '@example.test'], 'S', 'dom_1',
      'm' || i || c, 'wf_1', now()
    from generate_series(1, 4) i, unnest(array['marketing', 'transactional']) c;
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at)
    select id, 'ws_1', 'dom_1', "to"[1], 1, 'queued', '2026-01-01', now() + interval '1 day', now() from emails;
  update deliveries set state = 'sending', attempt = 1, lease_token = '${OLD_LEASE}', lease_until = now() + interval '1 minute'
    where email_id in ('em_4marketing', 'em_4transactional');
`

test('rows of the release before', async () => {
  const { url, db } = await createOldDatabase()
  await runSql(url, rowsOfBefore)
  const ran = await migrateUrl(url)
  expect(ran).toEqual(
    expect.arrayContaining(['2026-11-22-11-opt-outs', '2026-11-22-12-opt-outs-indexes']),
  )
  expect(await migrateUrl(url)).toEqual([])

  const claim = async () => {
    const { deliveries: claimed } = await transact.one({ db, wake: () => undefined }, (inTrx) =>
      claimInTrx(inTrx.db, {
        ...allLines(100, { from: 1, to: 2 }),
        leaseToken: '00000000-0000-0000-0000-00000000000b',
        leaseMs: 60_000,
        now: new Date(),
      }),
    )
    return claimed.map(({ email_id }) => email_id).sort()
  }
  // Receipts go at once. Nobody knows yet of marketing mail whether its recipients have left.
  expect(await claim()).toEqual(['em_1transactional', 'em_2transactional', 'em_3transactional'])

  // A process that prepares itself has copied the unsubscriptions; a worker takes over the rest.
  const addressMac = await addressMacOf(db)
  const deps = { db, newId, addressMac, wake: () => undefined }
  expect(await takeOverWorkflows(deps)).toBe(true)
  await takeOverAudiences(deps)
  await takeOverMail(deps)
  const optOuts = db.selectFrom('opt_outs').select(['scope', 'target_id', 'source'])
  const sorted = optOuts
    .select('unconfirmed_email_id')
    .orderBy('scope')
    .orderBy('unconfirmed_email_id')
  const audience = {
    scope: 'audience',
    target_id: 'aud_1',
    source: 'api',
    unconfirmed_email_id: null,
  }
  const workflow = { scope: 'workflow', target_id: 'wf_1', source: 'link' }
  expect(await sorted.execute()).toEqual([
    audience,
    audience,
    { ...workflow, unconfirmed_email_id: 'em_9' },
    { ...workflow, unconfirmed_email_id: null },
  ])
  await sql`update deliveries set next_at = '2026-01-01', ready = true where state = 'queued'`.execute(
    db,
  )
  expect(await claim()).toEqual(['em_3marketing'])
  const states = await db.selectFrom('deliveries').select(['email_id', 'state']).execute()
  const stateOf = (id: string) => states.find(({ email_id }) => email_id === id)?.state
  expect([stateOf('em_1marketing'), stateOf('em_2marketing')]).toEqual(['cancelled', 'cancelled'])

  // Its lane extends its leases, marks and settles as before; what it defers it cannot claim again.
  const theirs = sql`email_id like 'em_4%'`
  await sql`update deliveries set lease_until = now() + interval '2 minutes' where ${theirs}`.execute(
    db,
  )
  await sql`update deliveries set state = 'data_sent' where email_id = 'em_4transactional'`.execute(
    db,
  )
  await sql`update deliveries set state = 'deferred', lease_token = null, lease_until = null,
    next_at = now() + interval '1 hour'
    where email_id = 'em_4marketing'`.execute(db)
  await expect(
    sql`update deliveries set state = 'sending', lease_token = ${'00000000-0000-0000-0000-00000000000c'},
      lease_until = now() where email_id = 'em_4marketing'`.execute(db),
  ).rejects.toThrow('deliveries_fence')

  // It still writes: late unsubscriptions and mail are taken over too.
  await runSql(
    url,
    `insert into workflow_unsubscribes (workflow_id, contact_id, workspace_id, created_at)
      values ('wf_1', 'ct_3', 'ws_1', now());
     insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at)
      values ('em_3marketing', 'ws_1', 'dom_1', 'USER3@example.test', 1, 'queued', '2026-01-01', now() + interval '1 day', now())`,
  )
  expect(await claim()).toEqual([])
  await takeOverWorkflows(deps)
  await takeOverMail(deps)
  await sql`update deliveries set next_at = '2026-01-01' where state = 'queued'`.execute(db)
  expect(await claim()).toEqual([])
}, 60_000)

test('a migration waits for a lock that is held, again and again, and keeps nobody waiting for long', async () => {
  const { url, db } = await createOldDatabase()
  let migrating: Promise<string[]> | undefined
  await db.transaction().execute(async (trx) => {
    await sql`lock table deliveries in access share mode`.execute(trx)
    migrating = migrateUrl(url)
    // Writers of other connections get through while it tries.
    for (let i = 0; i < 3; i++) {
      await sql`insert into domain_days values ('dom_1', ${`2026-01-0${i + 1}`}, 1)`.execute(db)
    }
  })
  expect(await migrating).toContain('2026-11-22-11-opt-outs')
}, 60_000)
