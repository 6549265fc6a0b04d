// Random conditions, contacts and changes on a clock of its own: the kept members are those that the evaluator finds over facts which the
// test has counted itself, and exactly those moves are recorded that a change or time has made.
import { expect, test } from 'vitest'
import { removeAudienceContact } from '../../commands/audiences/removeContact.ts'
import { upsertAudienceContacts } from '../../commands/audiences/upsertContacts.ts'
import type { CommandDeps } from '../../commands/deps.ts'
import { evaluate } from '../../rules/conditions/evaluate.ts'
import type { Condition, ConditionFacts } from '../../rules/conditions/types.ts'
import type { Json } from '../../rules/json.ts'
import { createSegmentWorld } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { createRandom } from '../setup/random.ts'
import { insertAudience } from '../setup/schedules.ts'

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]
const STEPS = 45
const SEGMENTS = 3
const SECOND = 1_000
const PLANS = ['free', 'pro', null] as const
const EVENTS = ['came.in', 'bought.it'] as const

const { db } = await createTestDatabase()

/** What the test knows of a contact. */
interface Known {
  properties: Record<string, Json>
  firstSeen: number
  eventTimes: Record<string, number[]>
}

type Random = ReturnType<typeof createRandom>

function randomLeaf(random: Random, audienceId: string, earlier: readonly string[]): Condition {
  const span = random.between(1, 60) * SECOND
  const operator = random.pick(['within_last', 'older_than'] as const)
  const within = random.next() < 0.6 ? { within_ms: span } : {}
  const leaves: [Condition, ...Condition[]] = [
    { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' },
    { type: 'rule', field: 'properties.plan', operator: 'exists' },
    { type: 'rule', field: 'properties.seen_at', operator, value: span },
    { type: 'rule', field: 'contact.first_seen', operator, value: span },
    {
      type: 'event_count',
      event_name: random.pick(EVENTS),
      operator: random.pick(['gte', 'eq', 'lt'] as const),
      value: random.between(0, 3),
      ...within,
    },
    { type: 'audience', audience_id: audienceId, member: random.next() < 0.5 },
  ]
  const [first, ...others] = earlier.map(
    (segment_id): Condition => ({ type: 'segment', segment_id, member: random.next() < 0.6 }),
  )
  return first && random.next() < 0.25 ? random.pick([first, ...others]) : random.pick(leaves)
}

function randomCondition(random: Random, leaf: () => Condition, depth = 2): Condition {
  const kind = depth === 0 ? 'leaf' : random.pick(['leaf', 'and', 'or', 'not'] as const)
  const inner = () => randomCondition(random, leaf, depth - 1)
  if (kind === 'leaf') return leaf()
  return { type: kind, rules: kind === 'not' ? [inner()] : [inner(), inner()] }
}

test.each(SEEDS)('seed %i', { timeout: 300_000 }, async (seed) => {
  const random = createRandom(seed)
  const world = await createSegmentWorld(db)
  const { workspace, workspaceId, clock } = world
  const audienceId = await insertAudience(db, workspace, 0)
  const emails = ['a', 'b', 'c'].map((name) => `${name}${seed}@example.test`) as [
    string,
    ...string[],
  ]
  const contacts = new Map<string, Known>()
  const inAudience = new Set<string>()
  const conditions: Record<string, Condition> = {}

  const leafAfter = (earlier: readonly string[]) => () => randomLeaf(random, audienceId, earlier)
  const isMember = (segmentId: string, email: string, now: number): boolean => {
    const known = contacts.get(email)
    if (!known) return false
    const facts: ConditionFacts = {
      now,
      contact: { email, first_seen: known.firstSeen, properties: known.properties },
      event: {},
      trigger: {},
      waitEvents: {},
      steps: {},
      execution: { step_count: 0 },
      eventTimes: known.eventTimes,
      emailActivity: {},
      audiences: inAudience.has(email) ? [audienceId] : [],
      segments: conditions,
    }
    return evaluate({ type: 'segment', segment_id: segmentId, member: true }, facts)
  }
  /** Who is in which segment, as lines. */
  const memberships = () =>
    Object.keys(conditions).flatMap((id) =>
      emails.filter((email) => isMember(id, email, clock.ms)).map((email) => `${email} ${id}`),
    )
  const recorded = async () =>
    (
      await Promise.all(
        emails.map(async (email) => (await world.moves(email)).map((move) => `${email} ${move}`)),
      )
    ).flat()

  let moves = 0
  /** Does something, and expects the moves that it makes, or none where it is silent. */
  const expectMoves = async (isSilent: boolean, work: () => Promise<void>) => {
    const known = new Set(await recorded())
    const countBefore = (await recorded()).length
    const before = memberships()
    await work()
    const after = memberships()
    const made = isSilent
      ? []
      : [
          ...after
            .filter((line) => !before.includes(line))
            .map((line) => line.replace(' ', ' entered ')),
          ...before
            .filter((line) => !after.includes(line))
            .map((line) => line.replace(' ', ' left ')),
        ]
    const now = await recorded()
    expect(now.length - countBefore).toBe(made.length)
    expect(made.filter((line) => !now.includes(line))).toEqual([])
    expect(known.size).toBeLessThanOrEqual(now.length)
    moves += made.length
  }
  const expectMembers = async () => {
    for (const id of Object.keys(conditions)) {
      const wanted = emails.filter((email) => isMember(id, email, clock.ms))
      expect([id, await world.members(id)]).toEqual([id, wanted])
    }
  }

  const ofContact = (email: string): Known => {
    const known = contacts.get(email) ?? { properties: {}, firstSeen: clock.ms, eventTimes: {} }
    contacts.set(email, known)
    return known
  }
  const set = (known: Known, plan: Json, seen_at: Json) => {
    for (const [key, value] of Object.entries({ plan, seen_at })) {
      if (value === null) delete known.properties[key]
      else known.properties[key] = value
    }
  }
  const post = async (historical: boolean) => {
    const email = random.pick(emails)
    const name = random.pick(EVENTS)
    const [plan, seen_at] = [random.pick(PLANS), random.pick([clock.ms, null])]
    const brings = random.next() < 0.5
    await expectMoves(historical, async () => {
      const more = brings ? { contact_properties: { plan, seen_at } } : {}
      await world.post(email, name, { historical, ...more })
      const known = ofContact(email)
      known.eventTimes = {
        ...known.eventTimes,
        [name]: [...(known.eventTimes[name] ?? []), clock.ms],
      }
      known.properties = { ...known.properties }
      if (brings) set(known, plan, seen_at)
    })
  }
  const patch = async () => {
    const email = random.pick(emails)
    if (!contacts.has(email)) return
    const [plan, seen_at] = [
      random.pick(PLANS),
      random.pick([clock.ms, clock.ms - 5 * SECOND, null]),
    ]
    await expectMoves(false, async () => {
      await world.patch(email, { plan, seen_at })
      const known = ofContact(email)
      known.properties = { ...known.properties }
      set(known, plan, seen_at)
    })
  }
  const joinOrLeave = async () => {
    const email = random.pick(emails)
    const deps = world.deps as unknown as CommandDeps
    await expectMoves(false, async () => {
      if (inAudience.delete(email))
        await removeAudienceContact(deps, workspaceId, { audienceId, email })
      else {
        const call = { audienceId, contacts: [{ email }], isSingle: true }
        await upsertAudienceContacts(deps, workspaceId, call)
        inAudience.add(email)
      }
    })
  }
  const passTime = async () => {
    // Whom nobody has looked at yet moves silently with time, too.
    await world.fill()
    await expectMoves(false, async () => {
      clock.ms += random.between(1, 40) * SECOND
      await world.look()
    })
  }
  const change = async () => {
    const ids = Object.keys(conditions)
    const id = random.pick(ids as [string, ...string[]])
    const condition = randomCondition(random, leafAfter(ids.slice(0, ids.indexOf(id))))
    await expectMoves(true, async () => {
      await world.change(id, condition)
      conditions[id] = condition
    })
  }

  for (const _ of emails) if (random.next() < 0.7) await post(false)
  for (let i = 0; i < SEGMENTS; i++) {
    const condition = randomCondition(random, leafAfter(Object.keys(conditions)))
    const id = await world.segment(condition)
    await world.begin('segment_entered', id)
    conditions[id] = condition
  }
  for (let step = 0; step < STEPS; step++) {
    const chance = random.next()
    if (chance < 0.3) await post(false)
    else if (chance < 0.36) await post(true)
    else if (chance < 0.55) await patch()
    else if (chance < 0.68) await joinOrLeave()
    else if (chance < 0.88) await passTime()
    else if (chance < 0.94) await change()
    else await expectMoves(true, world.fill)
    const open = await db.selectFrom('segment_fills').select('segment_id').execute()
    if (open.length === 0) await expectMembers()
  }
  await world.fill()
  await expectMembers()
  expect(moves).toBeGreaterThan(3)
})
