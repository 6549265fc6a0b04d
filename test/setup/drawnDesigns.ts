// Random valid designs over all kinds of nodes, with what somebody outside does at each of their waits.
// Long because each kind of node is drawn here.
import type { TestDesign } from './flows.ts'
import { createRandom } from './random.ts'

type Data = Record<string, unknown>
type Random = ReturnType<typeof createRandom>

/** What designs name outside themselves. */
export interface World {
  /** A trigger of another workflow looks at the first one. */
  audiences: readonly [string, string]
  /** A workflow that counts its executions in the property `child`. */
  child: string
  /** A workflow whose executions wait for ever. */
  parked: string
  /** A published template. */
  template: string
  /** Of the service that is called: `/ok`, `/no` and `/flaky`. */
  url: string
  /** ms. */
  now: number
}

/** How a wait is ended from outside. */
export type Ends = 'event' | 'condition' | 'moved' | 'exited' | { goal: string }

/** What somebody does as soon as an execution waits at a node. */
export type Act = { ends: Ends } & (
  | { does: 'post'; eventName: string; properties: Data }
  | { does: 'patch'; properties: Data }
)

export interface Drawn {
  design: TestDesign
  /** By node; a wait at a node that is not named is ended by time. */
  acts: Record<string, Act>
  /** Of the contact when the execution begins. */
  properties: Data
  /** Of the event that starts it. */
  event: Data
  suppressed: boolean
}

/** The event that a design's own `send_event` nodes record. */
export const MADE_EVENT = 'made.note'
export const FROM = 'Team <hello@sender.test>'
const FAR_MS = 3_600_000
const NODES_MAX = 24
/** What other workflows react to by changing the contact, which looks at all waits of the contact. */
const REACTING = ['say', 'startOther', 'join']

type Exit = [node: string, handle: string]
interface Piece {
  entry: string
  /** Handles that lead on to whatever comes next. */
  exits: Exit[]
}

/** The design of a seed: the same for the same seed and world, up to its times. */
export function drawDesign(seed: number, world: World, eventName: string): Drawn {
  const random = createRandom(seed)
  const event = { n: random.between(0, 6), plan: random.pick(['free', 'gold']) }
  const canvas = createCanvas(random, world, event)
  const { node, link, chain } = canvas
  const start = node('trigger', { kind: 'event', event_name: eventName })
  const body = chain(random.between(4, 8), 0)
  link([[start, 'default']], body.entry)
  const end = random.next() < 0.5 ? node('exit', { outcome: 'through' }) : null
  if (end) link(body.exits, end)
  else canvas.close(body.exits)
  if (random.next() < 0.3) node('note', { text: 'for whoever reads this' })
  return {
    design: { nodes: canvas.nodes, edges: canvas.edges, settings: canvas.settings() },
    acts: canvas.acts,
    properties: { count: 0, dates: canvas.dates },
    event,
    suppressed: random.next() < 0.08,
  }
}

/** Nodes and edges as they are drawn. */
function createCanvas(random: Random, world: World, { plan }: { plan: string }) {
  const nodes: TestDesign['nodes'] = []
  const edges: TestDesign['edges'] = []
  const acts: Record<string, Act> = {}
  const dates: Data = {}
  const exitConditions: Data[] = []
  /** No wait is ended from outside, and a longest duration ends what waits for long. */
  const brief = random.next() < 0.12
  const chance = (of: number) => random.next() < of

  function node(type: string, data: Data): string {
    const id = `${type}_${nodes.length}`
    nodes.push({ id, type, data })
    return id
  }
  function link(exits: Exit[], target: string): void {
    for (const [source, sourceHandle] of exits) {
      edges.push({ id: `e${edges.length}`, source, target, sourceHandle })
    }
  }
  /** Leads handles that must lead somewhere to an end. */
  function close(exits: Exit[]): void {
    for (const exit of exits) link([exit], node('exit', {}))
  }
  const past = (type: string) => nodes.filter((one) => one.type === type).map(({ id }) => id)
  const leaf = (type: string, data: Data, handle = 'default'): Piece => {
    const id = node(type, data)
    return { entry: id, exits: [[id, handle]] }
  }
  const rule = (field: string, operator: string, value?: unknown): Data => ({
    type: 'rule',
    field,
    operator,
    ...(value === undefined ? {} : { value }),
  })

  function condition(depth = 0): Data {
    const options: (() => Data)[] = [
      () => rule('properties.count', 'lt', random.between(0, 4)),
      () => rule('event.n', 'gt', random.between(0, 5)),
      () => rule('event.plan', 'eq', 'gold'),
      () => rule('execution.step_count', 'lt', random.between(2, 12)),
      () => ({ type: 'event_count', event_name: MADE_EVENT, operator: 'gte', value: 1 }),
      () => ({ type: 'audience', audience_id: random.pick(world.audiences), member: chance(0.5) }),
      ...past('wait_for_event').map((id) => () => rule(`wait_events.${id}.v`, 'gte', 2)),
      ...past('send_email').map((id) => () => ({
        type: 'email_activity',
        node_id: id,
        status: 'sent',
      })),
      ...past('http_request').map((id) => () => rule(`steps.${id}.body.n`, 'eq', 1)),
    ]
    if (depth > 0 || chance(0.7)) return options[random.between(0, options.length - 1)]?.() ?? {}
    const type = random.pick(['and', 'or', 'not'])
    const rules = [condition(1), ...(type === 'not' ? [] : [condition(1)])]
    return { type, rules }
  }

  /** Lets somebody outside jump to a goal, or end the execution, while it waits there. */
  function interrupt(id: string): void {
    if (chance(0.3)) {
      exitConditions.push(rule(`properties.exit.${id}`, 'is_true'))
      acts[id] = { does: 'patch', properties: { exit: { [id]: true } }, ends: 'exited' }
      return
    }
    const byEvent = chance(0.5)
    const eventName = `reached.${id}`
    const holds = rule(`properties.goal.${id}`, 'is_true')
    const goal = node('goal', byEvent ? { event_name: eventName } : { condition: holds })
    acts[id] = byEvent
      ? { does: 'post', eventName, properties: {}, ends: { goal } }
      : { does: 'patch', properties: { goal: { [id]: true } }, ends: { goal } }
    const after = chain(random.between(1, 2), 2)
    link([[goal, 'default']], after.entry)
    close(after.exits)
  }

  function mail(): Piece {
    const id = node('send_email', {})
    const own = nodes.at(-1)
    const content = chance(0.3)
      ? { template_id: world.template }
      : { subject: `${id} {{ properties.count }}`, html: `<p>${id}</p>` }
    if (own) {
      own.data = {
        ...content,
        category: random.pick(['marketing', 'marketing', 'transactional']),
        on_suppressed: random.pick(['skip', 'exit', 'fail']),
        ...(chance(0.2) ? { guard: condition() } : {}),
      }
    }
    const exits: Exit[] = [[id, 'default']]
    for (const handle of ['skipped', 'failed']) if (chance(0.3)) exits.push([id, handle])
    return { entry: id, exits }
  }

  function waitForEvent(): Piece {
    const eventName = `come.${nodes.length}`
    if (chance(0.2)) {
      const timeout = brief ? 'PT1H' : 'PT1S'
      const id = node('wait_for_event', { event_name: MADE_EVENT, lookback_ms: FAR_MS, timeout })
      return both(id, 'received', 'timeout')
    }
    if (brief || chance(0.3)) {
      const timeout = brief && chance(0.5) ? 'PT1H' : 'PT1S'
      const id = node('wait_for_event', { event_name: eventName, timeout })
      return both(id, 'received', 'timeout')
    }
    const id = node('wait_for_event', {
      event_name: eventName,
      timeout: 'P1D',
      ...(chance(0.3) ? { filter: rule('event.v', 'gte', 1) } : {}),
      ...(chance(0.3) ? { match: [{ event_path: 'plan', equals_path: 'event.plan' }] } : {}),
    })
    const properties = { v: random.between(1, 3), plan }
    if (chance(0.3)) interrupt(id)
    else acts[id] = { does: 'post', eventName, properties, ends: 'event' }
    return both(id, 'received', 'timeout')
  }

  function waitForCondition(): Piece {
    if (brief || chance(0.3)) {
      const timeout = brief ? 'PT1H' : 'PT1S'
      const id = node('wait_for_condition', { condition: condition(), timeout })
      return both(id, 'met', 'timeout')
    }
    const name = `c${nodes.length}`
    const holds = rule(`properties.met.${name}`, 'is_true')
    const id = node('wait_for_condition', { condition: holds, timeout: 'P1D' })
    if (chance(0.3)) interrupt(id)
    else acts[id] = { does: 'patch', properties: { met: { [name]: true } }, ends: 'condition' }
    return both(id, 'met', 'timeout')
  }

  function waitUntil(): Piece {
    const more = { if_past: random.pick(['continue', 'continue', 'exit']), timezone: 'UTC' }
    if (brief || chance(0.4)) {
      const at = chance(0.4) ? '2020-01-01T00:00:00Z' : world.now + random.between(500, 9_000)
      return optional(node('wait_until', { at, ...more }), 'past')
    }
    const name = `d${nodes.length}`
    const id = node('wait_until', { property_path: `dates.${name}`, ...more })
    dates[name] = world.now + FAR_MS
    const moved = random.pick([null, '2020-01-01T00:00:00Z', world.now + 5_000])
    acts[id] = { does: 'patch', properties: { dates: { [name]: moved } }, ends: 'moved' }
    return optional(id, 'past')
  }

  function timeWindow(): Piece {
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
    const hour = (later: number) =>
      `${String((new Date(world.now).getUTCHours() + later) % 24).padStart(2, '0')}:00`
    if (brief || chance(0.5)) {
      return leaf('time_window', { days, start: '00:00', end: '00:00', timezone: 'UTC' })
    }
    const id = node('time_window', { days, start: hour(6), end: hour(7), timezone: 'UTC' })
    interrupt(id)
    return { entry: id, exits: [[id, 'default']] }
  }

  function call(): Piece {
    const path = random.pick(['ok', 'ok', 'no', 'flaky'])
    const id = node('http_request', {})
    const own = nodes.at(-1)
    if (own) {
      own.data = {
        method: random.pick(['POST', 'PUT']),
        url: `${world.url}/${path}?n={{ properties.count }}`,
        headers: { 'x-node': id },
        body: { count: { var: 'properties.count' }, text: 'at {{ properties.count }}' },
        store_as: id,
      }
    }
    return both(id, 'success', 'error')
  }

  /** A loop of two laps, with a wait in it. */
  function laps(depth: number): Piece {
    const name = `laps_${nodes.length}`
    const count = node('update_contact', { increment: { [name]: 1 } })
    const body = chain(random.between(1, 2), depth + 1)
    const pause = node('delay', { ms: random.between(20, 300) })
    const again = node('condition', { condition: rule(`properties.${name}`, 'lt', 2) })
    link([[count, 'default']], body.entry)
    link(body.exits, pause)
    link([[pause, 'default']], again)
    link([[again, 'true']], count)
    return { entry: count, exits: [[again, 'false']] }
  }

  /** Each of the handles leads through something else, or at once to what follows. */
  function ways(id: string, handles: string[], depth: number): Piece {
    const exits = handles.flatMap((handle): Exit[] => {
      if (chance(0.4) || nodes.length > NODES_MAX) return [[id, handle]]
      const inner = chain(random.between(1, 2), depth + 1)
      link([[id, handle]], inner.entry)
      return inner.exits
    })
    return { entry: id, exits }
  }
  const both = (id: string, one: string, other: string): Piece => ways(id, [one, other], 2)
  const optional = (id: string, handle: string): Piece =>
    chance(0.5) ? both(id, 'default', handle) : { entry: id, exits: [[id, 'default']] }

  const pieces: Record<string, (depth: number) => Piece> = {
    mail,
    again: mail,
    third: mail,
    fourth: mail,
    delay: () =>
      leaf('delay', { ms: random.between(1, 400), ...(chance(0.5) ? { jitter_ms: 100 } : {}) }),
    waitForEvent,
    waitForCondition,
    waitUntil,
    timeWindow,
    call,
    other: call,
    count: () =>
      leaf('update_contact', { increment: { count: 1 }, set: { last: { a: nodes.length } } }),
    unset: () =>
      leaf('update_contact', { unset: ['last.a'], set: { plan: { var: 'event.plan' } } }),
    join: () => leaf('add_to_audience', { audience_id: random.pick(world.audiences) }),
    leave: () => leaf('remove_from_audience', { audience_id: random.pick(world.audiences) }),
    say: () =>
      leaf('send_event', {
        event_name: MADE_EVENT,
        properties: { v: { var: 'event.n' }, text: 'note {{ properties.count }}' },
      }),
    startOther: () =>
      leaf('start_workflow', { workflow_id: random.pick([world.child, world.parked]) }),
    cancelOther: () => leaf('cancel_workflow', { workflow_id: world.parked, reason: 'no more' }),
    filter: () =>
      leaf('filter', { condition: chance(0.7) ? rule('event.n', 'gte', 0) : condition() }),
    goal: () => leaf('goal', { event_name: 'never.comes' }),
    condition: (depth) =>
      ways(node('condition', { condition: condition() }), ['true', 'false'], depth),
    branch: (depth) => {
      const branches = ['a', 'b'].map((id) => ({ id, condition: condition() }))
      return ways(node('branch', { branches }), ['a', 'b', 'else'], depth)
    },
    split: (depth) => {
      const variants = ['x', 'y'].map((id) => ({ id, weight: random.between(1, 3) }))
      const sticky = random.pick(['contact', 'execution'])
      return ways(node('split', { variants, sticky }), ['x', 'y'], depth)
    },
    laps,
    unsubscribe: () => leaf('unsubscribe', { scope: random.pick(['workflow', 'workspace']) }),
  }

  /** Pieces one after the other. Inside of others there are no further loops and ways. */
  function chain(length: number, depth: number): Piece {
    const nested = ['condition', 'branch', 'split', 'laps']
    const names = Object.keys(pieces).filter((name) => {
      if (name === 'unsubscribe') return chance(0.5)
      if (brief && REACTING.includes(name)) return false
      return !nested.includes(name) || (depth < 2 && nodes.length < NODES_MAX)
    })
    const parts: Piece[] = []
    for (let i = 0; i < length; i++) {
      const made = pieces[names[random.between(0, names.length - 1)] ?? 'mail'] ?? mail
      const part = made(depth)
      const before = parts.at(-1)
      if (before) link(before.exits, part.entry)
      parts.push(part)
    }
    return { entry: parts[0]?.entry ?? '', exits: parts.at(-1)?.exits ?? [] }
  }

  function settings(): Data {
    const cap = { count: random.between(1, 2), per_ms: random.pick([900, 86_400_000]) }
    const on_hit = cap.per_ms < 1_000 ? 'wait' : 'skip'
    return {
      default_from: FROM,
      timezone: 'UTC',
      on_unsubscribe: random.pick(['cancel', 'skip_sends']),
      on_step_failure: random.pick(['fail', 'continue']),
      // What interrupts a held execution by time cannot be told from what its release does.
      ...(chance(0.4) && !brief ? { on_pause: 'hold' } : {}),
      ...(exitConditions.length > 0 ? { exit_conditions: exitConditions } : {}),
      ...(chance(0.3) ? { frequency_cap: { ...cap, on_hit } } : {}),
      ...(brief ? { max_duration_ms: random.between(300, 2_500) } : {}),
    }
  }
  return { nodes, edges, acts, dates, node, link, close, chain, settings }
}
