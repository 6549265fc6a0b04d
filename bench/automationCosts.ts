// What an event costs beside many workflows and filters, a contact's change beside many waits, and the interpreter alone.
import { type RawBuilder, sql } from 'kysely'
import { updateContactProperties } from '../commands/contacts/updateProperties.ts'
import { createEventGroups } from '../commands/events/groups.ts'
import { postAutomationEvent } from '../commands/events/post.ts'
import type { Postgres } from '../dev/servers/postgres.ts'
import { isRefusal } from '../rules/refusals.ts'
import { designOf, scenarios, TRIGGER_EVENT } from './automationScenarios.ts'
import { measureInterpreter } from './interpreterRate.ts'
import { type BenchOptions, type Figure, figure } from './report.ts'
import { interleave } from './rounds.ts'
import type { Servers } from './servers.ts'
import { createWorkflow, createWorkspace, newId, type Workspace } from './workspace.ts'

const WORKFLOWS = 1_000
const EVENTS_AT_LEAST = 0.9
const FILTER_US_MAX = 3
/** 999 against one. */
const FURTHER_FILTERS = WORKFLOWS - 2
const WAITING = 100_000
const CHANGE_MS_MAX = 20
const ROUNDS = 5
/** Contacts that events are for; events of one contact are counted, so each gets few. */
const CONTACTS = 500

interface Costs {
  figures: Figure[]
  further: Record<string, number | string>
}

type Said = Pick<BenchOptions, 'say'> & { rounds: number }

/** Runs commands in this process, one at a time, on a database of their own. */
export async function measureCosts(
  servers: Servers,
  postgres: Postgres,
  { say, quick }: BenchOptions,
): Promise<Costs> {
  const databaseUrl = await servers.database(postgres, 'bench_costs')
  const one = await seed(servers, databaseUrl, 'one')
  const many = await seed(servers, databaseUrl, 'many')
  const filtered = await seed(servers, databaseUrl, 'filtered')
  const oneFilter = await seed(servers, databaseUrl, 'one_filter')
  const waiting = await seed(servers, databaseUrl, 'waiting')
  const others = WORKFLOWS - 1
  const filter = { type: 'rule', field: 'event.total', operator: 'gt', value: 1_000 }
  await copyTriggers(many, { count: others, eventName: sql`'other.' || n`, filter: null })
  const placed = { eventName: sql`'order.placed'`, filter }
  await copyTriggers(filtered, { count: others, ...placed })
  await copyTriggers(oneFilter, { count: 1, ...placed })
  const waits = quick ? 2_000 : WAITING
  await insertWaits(waiting, waits)
  const said = { say, rounds: quick ? 2 : ROUNDS }
  const events = quick ? 50 : 400
  return {
    figures: [
      await besideOthers(one, many, events, said),
      await ofFilters(oneFilter, filtered, events, said),
      await ofChanges(waiting, waits, said),
      await measureInterpreter({ say, quick }),
    ],
    further: { waiting_executions: waits },
  }
}

/** A workspace with one active workflow. */
interface Seeded extends Workspace {
  workflowId: string
}

async function seed(servers: Servers, databaseUrl: string, name: string): Promise<Seeded> {
  // The name is that of a database, and no host has an underscore.
  const domain = `${name.replaceAll('_', '-')}.test`
  const workspace = await createWorkspace(databaseUrl, { name, domain })
  servers.add(() => workspace.close())
  const [scenario] = scenarios
  if (!scenario) throw new Error('there is no scenario')
  const text = JSON.stringify(designOf(scenario)).replaceAll('@sender.test', `@${domain}`)
  const flow = { name: 'Mails', design: JSON.parse(text) as object }
  return { ...workspace, workflowId: await createWorkflow(workspace, databaseUrl, flow) }
}

async function besideOthers(
  one: Seeded,
  many: Seeded,
  events: number,
  { say, rounds }: Said,
): Promise<Figure> {
  const what = `events beside ${WORKFLOWS - 1} active workflows on other event names`
  say(what)
  const turns = 4
  const pairs = await interleave({
    rounds,
    turns,
    unit: 'events/s',
    subject: () => post(many, TRIGGER_EVENT, events / turns),
    reference: () => post(one, TRIGGER_EVENT, events / turns),
    say,
  })
  return figure(what, pairs, 'events/s', { at_least: EVENTS_AT_LEAST })
}

/** Held against an event that meets one filter: that costs a closer look at the event, which no further filter repeats. */
async function ofFilters(
  oneFilter: Seeded,
  filtered: Seeded,
  events: number,
  { say, rounds }: Said,
): Promise<Figure> {
  say(`events with ${WORKFLOWS - 1} filters on the same name, none of which lets them in`)
  const each_us = async (workspace: Seeded) =>
    1_000_000 / (await post(workspace, 'order.placed', events / 4))
  // The first event of a process reads all of them.
  await each_us(filtered)
  await each_us(oneFilter)
  const pairs = await interleave({
    rounds,
    unit: 'µs a filter',
    subject: async () => ((await each_us(filtered)) - (await each_us(oneFilter))) / FURTHER_FILTERS,
    reference: async () => FILTER_US_MAX,
    say,
  })
  return figure('a filter of an event', pairs, 'µs', { at_most: 1 })
}

async function ofChanges(waiting: Seeded, waits: number, { say, rounds }: Said): Promise<Figure> {
  const what = `a contact's change beside ${waits} waits for conditions, 99th percentile of ${CHANGES}`
  say(what)
  const pairs = await interleave({
    rounds,
    unit: 'ms',
    subject: () => changeContacts(waiting, waits),
    reference: async () => CHANGE_MS_MAX,
    say,
  })
  return figure(what, pairs, 'ms', { at_most: 1 })
}

const depsOf = ({ db, addressMac }: Workspace) => ({
  db,
  addressMac,
  newId,
  now: () => new Date(),
  wake: () => undefined,
})

/** Posts events one after the other. @returns events per second */
async function post(workspace: Workspace, event_name: string, count: number): Promise<number> {
  const own = depsOf(workspace)
  const deps = { ...own, eventGroups: createEventGroups(own) }
  const begin = performance.now()
  for (let i = 0; i < count; i++) {
    const email = `contact-${Math.floor(Math.random() * CONTACTS)}@example.test`
    const event = { event_name, email, properties: { total: 5 } }
    const posted = await postAutomationEvent(deps, workspace.workspaceId, event)
    if (isRefusal(posted)) throw new Error('an event was refused')
  }
  return count / ((performance.now() - begin) / 1000)
}

/** Copies an active workflow `count` times, each with a trigger on `eventName`, and with `filter` if there is one. */
async function copyTriggers(
  { db, workspaceId, workflowId }: Seeded,
  {
    count,
    eventName,
    filter,
  }: { count: number; eventName: RawBuilder<unknown>; filter: object | null },
): Promise<void> {
  const copies = sql`generate_series(1, ${count}::int) as n`
  const id = sql`'wfl_' || lpad(upper(to_hex(n)), 20, '0') || right(${workspaceId}, 6)`
  await sql`
    insert into workflows (id, workspace_id, name, status, current_version, active_version, created_by, created_by_type,
      created_at, updated_at, archived_at)
    select ${id}, workspace_id, name, status, current_version, active_version, created_by, created_by_type, created_at,
      updated_at, archived_at
    from workflows, ${copies} where id = ${workflowId}`.execute(db)
  await sql`
    insert into workflow_versions (workflow_id, version, workspace_id, design, interrupts, created_by, created_at)
    select ${id}, version, workspace_id, design, interrupts, created_by, created_at
    from workflow_versions, ${copies} where workflow_id = ${workflowId}`.execute(db)
  await sql`
    insert into workflow_triggers (workflow_id, node_id, workspace_id, event_name, version, position, filter, re_entry, about)
    select ${id}, node_id, workspace_id, ${eventName}, version, position, ${filter && JSON.stringify(filter)}::jsonb, re_entry,
      about
    from workflow_triggers, ${copies} where workflow_id = ${workflowId}`.execute(db)
  await sql`analyze workflows, workflow_versions, workflow_triggers`.execute(db)
}

/** Executions of as many contacts, each of which waits until a property of its contact is large enough. */
async function insertWaits({ db, workspaceId, workflowId }: Seeded, count: number): Promise<void> {
  const condition = { type: 'rule', field: 'properties.score', operator: 'gt', value: 1_000 }
  await sql`
    insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, properties, created_at, updated_at)
    select 'ct_wait' || n, ${workspaceId}, 'waiting-' || n || '@example.test', now(), now(), 'user.signed_up',
      '{"score": 1}', now(), now()
    from generate_series(1, ${count}::int) n`.execute(db)
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, created_at, updated_at)
    select 'exe_wait' || n, ${workspaceId}, ${workflowId}, 1, 'ct_wait' || n, 'waiting-' || n || '@example.test', 'start',
      now(), now()
    from generate_series(1, ${count}::int) n`.execute(db)
  await sql`
    insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, condition, watched, created_at)
    select 'exe_wait' || n, 0, 'welcome', ${workspaceId}, 'ct_wait' || n, ${JSON.stringify(condition)}::jsonb, true, now()
    from generate_series(1, ${count}::int) n`.execute(db)
  await sql`vacuum analyze contacts, executions, event_waits`.execute(db)
}

const CHANGES = 100

/** Changes properties of contacts, which ends no wait. @returns the 99th percentile, ms */
async function changeContacts(workspace: Workspace, waits: number): Promise<number> {
  const deps = depsOf(workspace)
  const times: number[] = []
  for (let i = 0; i < CHANGES; i++) {
    const n = 1 + Math.floor(Math.random() * waits)
    const begin = performance.now()
    const patch = { email: `waiting-${n}@example.test`, properties: { score: Math.random() * 100 } }
    const refused = await updateContactProperties(deps, workspace.workspaceId, patch)
    if (refused) throw new Error('a change was refused')
    times.push(performance.now() - begin)
  }
  times.sort((a, b) => a - b)
  return times[Math.ceil(CHANGES * 0.99) - 1] ?? 0
}
