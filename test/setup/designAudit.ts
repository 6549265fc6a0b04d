// What an execution of a drawn design has left behind, against what the reference says.
import { sql } from 'kysely'
import type { SegmentResult } from '../../workflows/messages.ts'
import { addressMacOf } from './addressMac.ts'
import type { TestDatabase } from './database.ts'
import { answerOf, type Left, lineOf, modelExecution } from './designModel.ts'
import type { Drawn, World } from './drawnDesigns.ts'
import type { CameRequest } from './httpServer.ts'

/** An execution under way. */
export interface Running {
  id: string
  email: string
  workflowId: string
  seed: number
  drawn: Drawn
}

/** Events that designs and whoever acts for them record. */
const COUNTED = /^(made|come|reached)[.]|^email[.]sent$|^audience[.](joined|left)$/

/** @returns what is otherwise than the pure interpreter says, one line each; empty if nothing is */
export async function auditExecution(
  database: TestDatabase,
  world: World,
  running: Running,
  came: readonly CameRequest[],
): Promise<string[]> {
  const { execution, contact, moments } = await readInputs(database, running)
  const expected = modelExecution({
    ...running,
    world,
    executionId: running.id,
    enteredAt: execution.created_at.getTime(),
    firstSeen: contact.first_seen.getTime(),
    moments,
  })
  const found = await readLeft(database, world, running, came)
  const about = `seed ${running.seed}, execution ${running.id}`
  const differing = (Object.keys(expected) as (keyof Left)[]).filter(
    (key) => JSON.stringify(sorted(expected[key])) !== JSON.stringify(sorted(found[key])),
  )
  const faults = differing.map(
    (key) =>
      `${about}: ${key} should be ${JSON.stringify(expected[key])}, are ${JSON.stringify(found[key])}`,
  )
  return [...faults, ...differentBodies(running.id, came).map((fault) => `${about}: ${fault}`)]
}

/** Objects of Postgres have their keys in an order of its own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]))
}

const keyOf = ({ headers }: CameRequest): string => String(headers['idempotency-key'])

const isOf = (executionId: string) => (request: CameRequest) =>
  keyOf(request).startsWith(`${executionId}:`)

/** Requests of one call that were not the same each time. */
function differentBodies(executionId: string, came: readonly CameRequest[]): string[] {
  const first = new Map<string, string>()
  return came.filter(isOf(executionId)).flatMap((request) => {
    const { method, url, body, headers } = request
    const text = `${method} ${url} ${headers['x-node']} ${body}`
    const known = first.get(keyOf(request)) ?? text
    first.set(keyOf(request), known)
    return known === text ? [] : [`the call ${keyOf(request)} was ${known} and ${text}`]
  })
}

async function readInputs({ db }: TestDatabase, { id, email }: Running) {
  const [execution, contact, segments] = await Promise.all([
    db.selectFrom('executions').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    db.selectFrom('contacts').selectAll().where('email', '=', email).executeTakeFirstOrThrow(),
    db
      .selectFrom('execution_segments')
      .select(['segment', 'created_at', 'result'])
      .where('execution_id', '=', id)
      .orderBy('segment')
      .execute(),
  ])
  const moments = segments.map(({ created_at, result }, i) => {
    const { next } = result as unknown as SegmentResult
    if (segments[i]?.segment !== i) throw new Error(`execution ${id} has no segment ${i}`)
    return { at: created_at.getTime(), held: next.kind === 'wait' && next.held === true }
  })
  return { execution, contact, moments }
}

async function readLeft(
  database: TestDatabase,
  world: World,
  running: Running,
  came: readonly CameRequest[],
): Promise<Left> {
  const { db } = database
  const { id, email } = running
  const { execution, contact, moments } = await readInputs(database, running)
  const { workspace_id } = execution
  const hmac = (await addressMacOf(db))(workspace_id, email)
  const steps = db.selectFrom('execution_steps').select(['seq', 'node_id', 'handle', 'why'])
  const mails = db.selectFrom('emails').select(['node_id', 'subject'])
  const members = db.selectFrom('audience_contacts').select('audience_id')
  // Who leaves the workspace leaves each of their audiences too.
  const optOuts = db
    .selectFrom('opt_outs')
    .select('scope')
    .where('address_hmac', '=', hmac)
    .where('scope', '<>', 'audience')
  const others = db.selectFrom('executions').select(['workflow_id', 'ended_status'])
  const events = await sql<{ event_name: string; count: number }>`
    select event_name, count(*)::int as count from automation_events
    where contact_id = ${contact.id} group by event_name
  `.execute(db)
  const [stepRows, mailRows, memberRows, optOutRows, otherRows] = await Promise.all([
    steps.where('execution_id', '=', id).orderBy('seq').execute(),
    mails.where('execution_id', '=', id).orderBy('id').execute(),
    members.where('email', '=', email).orderBy('audience_id').execute(),
    optOuts.orderBy('scope').execute(),
    others.where('contact_id', '=', contact.id).where('id', '<>', id).execute(),
  ])
  const parked = otherRows.filter(({ workflow_id }) => workflow_id === world.parked)
  return {
    steps: stepRows.map(({ node_id, handle, why }) => lineOf(node_id, handle, why)),
    mails: mailRows.map(({ node_id, subject }) => `${node_id} ${subject}`),
    calls: [...new Set(came.filter(isOf(id)).map(keyOf))].sort(),
    events: Object.fromEntries(
      events.rows
        .filter(({ event_name }) => COUNTED.test(event_name))
        .map(({ event_name, count }) => [event_name, count]),
    ),
    audiences: memberRows.map(({ audience_id }) => audience_id).sort(),
    properties: contact.properties,
    children: otherRows.filter(({ workflow_id }) => workflow_id === world.child).length,
    parked: {
      live: parked.filter(({ ended_status }) => ended_status === null).length,
      cancelled: parked.filter(({ ended_status }) => ended_status === 'CANCELLED').length,
    },
    optOuts: optOutRows.map(({ scope }) => scope),
    end: `${execution.ended_status} ${execution.outcome} ${execution.error}`,
    segments: moments.length,
  }
}

/** What the service answers: `/flaky` is away for the first request of each call. */
export function createAnswers() {
  const seen = new Set<string>()
  return (request: CameRequest): { status: number; body: object } => {
    const { pathname } = new URL(request.url, 'http://any')
    const isFirst = !seen.has(keyOf(request))
    seen.add(keyOf(request))
    return pathname === '/flaky' && isFirst ? { status: 503, body: {} } : answerOf(request.url)
  }
}
