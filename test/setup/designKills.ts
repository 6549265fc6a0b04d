// Executions of drawn designs, whose worker is killed at each trace point of a segment and of a call, and the audit of what they leave.
// Long because its world, its service and its kills are one story.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, inject } from 'vitest'
import type { SegmentPoint } from '../../activities/points.ts'
import { isAlive } from '../../dev/processes/processes.ts'
import type { TestDatabase } from './database.ts'
import { createActor } from './designActor.ts'
import { auditExecution, createAnswers, type Running } from './designAudit.ts'
import { drawDesign, FROM, MADE_EVENT, type World } from './drawnDesigns.ts'
import { eventually } from './eventually.ts'
import { createClient, seedWorkspace } from './harness.ts'
import { type CameRequest, type createHttpServer, json } from './httpServer.ts'
import { createTestNamespace } from './namespace.ts'
import { type ServiceEnv, startApi, startWorker } from './processes.ts'
import { createRandom } from './random.ts'
import { uniqueName } from './unique.ts'

const PRELOADED = new URL('./killAtPoint.mjs', import.meta.url)
/** A worker that is not killed by then hangs. */
const HUNG_MS = 120_000
const DRAIN_MS = 240_000
/** Designs that begin before each kill, and again while the worker lives on after so long. */
const DESIGNS_PER_KILL = 3
const MORE_AFTER_MS = 3_000
const PATHS = ['/ok', '/no', '/flaky']

/** `reported`: about when Temporal learns what a segment gave. */
export const segmentKills = [
  'begin',
  'locked',
  'walked',
  'written',
  'committed',
  'reported',
  'call',
  'called',
  'recorded',
] as const satisfies readonly (SegmentPoint | 'reported')[]

export interface DesignKills {
  seed: number
  kills: readonly (typeof segmentKills)[number][]
  /** Designs beside those that begin as there is a kill. */
  more?: number
  say?: (line: string) => void
}

type Server = Awaited<ReturnType<typeof createHttpServer>>
type Request = ReturnType<typeof createClient>

/**
 * Runs drawn designs while their worker is killed, and paused workflows hold some of them. Waits until all have ended.
 * @returns what differs from what the pure interpreter says (empty if all is well), and counts
 */
export async function killAmongDesigns(
  database: TestDatabase,
  server: Server,
  { seed, kills, more = 0, say = () => undefined }: DesignKills,
) {
  const random = createRandom(seed)
  const service = await startDesignService(database, server)
  const actor = createActor(database, service.request)
  let seeds = seed * 1_000
  const begin = async (count: number) => {
    for (let i = 0; i < count; i++) actor.add(await service.begin(seeds++))
  }
  for (const [n, at] of kills.entries()) {
    await begin(DESIGNS_PER_KILL)
    // `reported` is no point of the worker's: it dies some ms after a commit.
    const when = at === 'reported' ? 'committed' : at
    const later = at === 'reported' ? ` ${random.between(1, 60)}` : ''
    const pid = await service.run(`${when} ${random.between(1, 6)}${later}`)
    let next = Date.now() + MORE_AFTER_MS
    await eventually(
      async () => {
        if (!isAlive(pid)) return
        if (Date.now() > next) {
          await begin(1)
          next = Date.now() + MORE_AFTER_MS
        }
        throw new Error(`the worker was not killed at ${at}: ${service.log()}`)
      },
      { deadline_ms: HUNG_MS },
    )
    if (random.next() < 0.4) await actor.holdSome(random)
    if (n % 20 === 19) say(`kill ${n + 1} of ${kills.length}, ${actor.running.length} executions`)
  }
  await begin(more)
  await service.run('')
  await eventually(() => actor.expectEnded(service.world.parked), { deadline_ms: DRAIN_MS })
  await actor.stop()

  const came = PATHS.flatMap(server.came)
  const faults: string[] = [...actor.faults]
  for (const one of actor.running) {
    faults.push(...(await auditExecution(database, service.world, one, came)))
  }
  return { faults, counts: await countAll(database, actor.running, kills, came) }
}

async function countAll(
  { db }: TestDatabase,
  running: readonly Running[],
  kills: DesignKills['kills'],
  came: readonly CameRequest[],
) {
  const ids = running.map(({ id }) => id)
  const count = async (table: 'execution_steps' | 'execution_segments' | 'emails') => {
    const rows = db.selectFrom(table).select((eb) => eb.fn.countAll<number>().as('count'))
    return Number((await rows.where('execution_id', 'in', ids).executeTakeFirstOrThrow()).count)
  }
  const ended = await db
    .selectFrom('executions')
    .select(['ended_status', 'outcome'])
    .where('id', 'in', ids)
    .execute()
  const by: Record<string, number> = {}
  for (const { ended_status, outcome } of ended) {
    const name = `${ended_status} ${outcome ?? ''}`.trim()
    by[name] = (by[name] ?? 0) + 1
  }
  const held = await db
    .selectFrom('execution_segments')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('execution_id', 'in', ids)
    .where(sql<boolean>`result -> 'next' -> 'held' is not null`)
    .executeTakeFirstOrThrow()
  const types = running.flatMap(({ drawn }) => drawn.design.nodes.map(({ type }) => type))
  return {
    kills: kills.length,
    executions: ids.length,
    ended: by,
    kinds: new Set(types).size,
    segments: await count('execution_segments'),
    held: Number(held.count),
    steps: await count('execution_steps'),
    mails: await count('emails'),
    calls: new Set(came.map(({ headers }) => headers['idempotency-key'])).size,
    requests: came.length,
  }
}

/** The API, and a worker that is killed as its plan says. */
async function startDesignService(database: TestDatabase, server: Server) {
  const answer = createAnswers()
  for (const path of PATHS) {
    server.answer(path, (res, came) => {
      const { status, body } = answer(came)
      json(status, body)(res, came)
    })
  }
  const [temporal, workspace] = await Promise.all([
    createTestNamespace(),
    seedWorkspace(database.db),
  ])
  const plan = join(inject('runFolder'), uniqueName('plan'))
  writeFileSync(plan, '')
  const base: ServiceEnv = {
    databaseUrl: database.url,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    smtpUrl: 'smtp://127.0.0.1:1',
    env: { API_METRICS_PORT: '0', ALLOW_PRIVATE_HTTP: 'true' },
  }
  const killed = {
    WORKER_ROLES: 'executions',
    NODE_OPTIONS: `--import ${PRELOADED.href}`,
    KILL_PLAN: plan,
  }
  const api = await startApi(base)
  const request = createClient(() => api.url, workspace.key)
  const world = await createWorld(request, server.url)
  const worker = await startWorker({ ...base, env: { ...base.env, ...killed } })
  let isFirst = true
  return {
    request,
    world,
    log: () => worker.log(),
    /** Starts the worker anew, to be killed as it says. @returns its pid */
    async run(when: string): Promise<number> {
      if (isFirst) await worker.kill()
      isFirst = false
      writeFileSync(plan, when)
      await worker.start({ ready: false })
      return worker.pid
    },
    /** Draws a design, makes a workflow of it and starts an execution. */
    begin: (seed: number) => begin(request, world, seed),
  }
}

async function begin(request: Request, world: World, seed: number): Promise<Running> {
  const eventName = uniqueName('begin')
  const email = `${uniqueName('c')}@example.test`
  const drawn = drawDesign(seed, { ...world, now: Date.now() }, eventName)
  const workflowId = await createFlow(request, drawn.design, `drawn ${seed}`)
  if (drawn.suppressed) {
    const answer = await request('POST', '/v1/suppressions', { email })
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  }
  const event = {
    event_name: eventName,
    email,
    properties: drawn.event,
    contact_properties: drawn.properties,
  }
  const posted = await request<{ executions: string[] }>('POST', '/v1/automation/events', event)
  const [id] = posted.body.executions
  if (id === undefined) throw new Error(`design ${seed} began nothing`)
  return { id, email, workflowId, seed, drawn }
}

async function createFlow(request: Request, design: object, name: string): Promise<string> {
  const body = { name, status: 'active', design }
  const made = await request<{ workflow_id: string }>('POST', '/v1/workflows', body)
  expect(made.status, `${name}: ${JSON.stringify(made.body)}`).toBe(201)
  return made.body.workflow_id
}

/** What drawn designs name: audiences, a template, and workflows that count in the contact how often they run. */
async function createWorld(request: Request, url: string): Promise<World> {
  const audience = async () => {
    const made = await request<{ id: string }>('POST', '/v1/audiences', { name: uniqueName('a') })
    return made.body.id
  }
  const [first, second] = [await audience(), await audience()]
  const counting = (name: string, trigger: object) => {
    const nodes = [
      { id: 'start', type: 'trigger', data: trigger },
      { id: 'count', type: 'update_contact', data: { increment: { [name]: 1 } } },
    ]
    const edges = [{ id: 'e', source: 'start', target: 'count' }]
    const end = { id: 'end', type: 'exit', data: {} }
    const last = { id: 'l', source: 'count', target: 'end' }
    return createFlow(request, { nodes: [...nodes, end], edges: [...edges, last] }, name)
  }
  await counting('heard', { kind: 'event', event_name: MADE_EVENT })
  await counting('joined', { kind: 'audience_joined', audience_id: first })
  const parked = {
    nodes: [
      { id: 'start', type: 'trigger', data: { kind: 'manual' } },
      { id: 'wait', type: 'wait_for_event', data: { event_name: 'never.comes' } },
      { id: 'end', type: 'exit', data: {} },
    ],
    edges: [
      { id: 'e1', source: 'start', target: 'wait' },
      { id: 'e2', source: 'wait', target: 'end', sourceHandle: 'received' },
    ],
  }
  const template = uniqueName('t')
  const made = await request<{ id: string }>('POST', '/v1/templates', {
    name: template,
    alias: template,
    from: FROM,
    subject: 'Of a template',
    html: '<p>T {{ properties.count }}</p>',
  })
  expect(made.status, JSON.stringify(made.body)).toBeLessThan(300)
  await request('POST', `/v1/templates/${template}/publish`)
  return {
    audiences: [first, second],
    child: await counting('child', { kind: 'manual' }),
    parked: await createFlow(request, parked, 'parked'),
    template,
    url,
    now: Date.now(),
  }
}
