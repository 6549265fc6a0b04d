// Figure: automation events accepted per second, each starting one execution, against its statements without HTTP.
import { sql } from 'kysely'
import { LOOPS, measureAccepted, POOL_SIZE } from './accepted.ts'
import { describePostgres } from './machine.ts'
import { CONTACTS, contactEmail, EVENT_NAME, SENDER } from './payloads.ts'
import type { Bench } from './report.ts'
import { withServers } from './servers.ts'
import { createWorkflow, createWorkspace, type Workspace } from './workspace.ts'

const design = {
  nodes: [
    { id: 'placed', type: 'trigger', data: { kind: 'event', event_name: EVENT_NAME } },
    {
      id: 'thanks',
      type: 'send_email',
      data: { from: SENDER, subject: 'Thank you', html: '<p>Thank you.</p>' },
    },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [
    { id: 'e1', source: 'placed', target: 'thanks' },
    { id: 'e2', source: 'thanks', target: 'end' },
  ],
}

export const events: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    await createWorkflow(workspace, databaseUrl, { name: 'Thanks', design })
    await insertContacts(workspace)
    const accepted = await measureAccepted(servers, {
      kind: 'events',
      databaseUrl,
      workspace,
      tables: ['automation_events', 'executions', 'outbox'],
      atLeast: 0.9,
      options,
    })
    return {
      reference:
        'the statements of postAutomationEvent, captured from one request in a commit of its own after the triggers were ' +
        'read, and replayed with new ids, prepared where they ' +
        `were, through a plain pg pool of ${POOL_SIZE} by one process without HTTP, ${LOOPS} at a time as the ` +
        `requests are; every event meets one active workflow and is for one of ${CONTACTS} known contacts; no worker ` +
        'runs, the outbox grows',
      rounds: accepted.rounds,
      figures: [accepted.figure],
      postgres: await describePostgres(databaseUrl),
      temporal: 'none runs',
    }
  })

/** Inserts the contacts beforehand, so that rounds do not differ in how many contacts are new. */
export async function insertContacts({ db, workspaceId }: Workspace): Promise<void> {
  const emails = Array.from({ length: CONTACTS }, (_, i) => contactEmail(i))
  await sql`
    insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen, last_event,
      created_at, updated_at)
    select 'ct_' || lpad(upper(to_hex(n)), 26, '0'), ${workspaceId}, email, 1, now(), now(),
      'user.signed_up', now(), now()
    from unnest(${emails}::text[]) with ordinality as e(email, n)
  `.execute(db)
  await sql`vacuum analyze contacts`.execute(db)
}
