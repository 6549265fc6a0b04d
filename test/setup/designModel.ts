// The reference of an execution: the pure interpreter over a drawn design, in memory, with nobody who is killed.
// Long because one execution is one state that all of its parts share.
import type { Design } from '../../rules/design/types.ts'
import { handleAfterWait, walkSegment } from '../../rules/interpreter.ts'
import type {
  CallResult,
  Effect,
  EffectResult,
  End,
  MailContent,
  Next,
  SegmentFacts,
  SegmentStart,
  SegmentTools,
  Step,
} from '../../rules/interpreterTypes.ts'
import type { JsonObject } from '../../rules/json.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { type Drawn, MADE_EVENT, type World } from './drawnDesigns.ts'

/** What the model is told of a segment: when it had its lock, ms, and whether its workflow was paused then. */
export interface Moment {
  at: number
  held: boolean
}

export interface ModelInput {
  drawn: Drawn
  world: World
  executionId: string
  workflowId: string
  email: string
  enteredAt: number
  firstSeen: number
  moments: readonly Moment[]
}

/** Everything that an execution is to leave behind. */
export interface Left {
  /** `node handle why`. */
  steps: string[]
  /** `node subject`. */
  mails: string[]
  /** Idempotency keys, sorted. */
  calls: string[]
  /** How many events of the contact there are, by name. */
  events: Record<string, number>
  audiences: string[]
  properties: JsonObject
  /** Executions of other workflows for the contact. */
  children: number
  parked: { live: number; cancelled: number }
  optOuts: string[]
  /** `status outcome error`; what the last segment gave where the execution has not ended. */
  end: string
  segments: number
}

const ANSWERS: Record<string, { status: number; body: JsonObject; result: CallResult }> = {
  ok: { status: 200, body: { n: 1 }, result: { handle: 'success', why: '200' } },
  no: { status: 404, body: { n: 4 }, result: { handle: 'error', why: '404' } },
  flaky: { status: 200, body: { n: 2 }, result: { handle: 'success', why: '200' } },
}

/** What the service answers at last to a call of that URL. */
export const answerOf = (url: string) => {
  const found = ANSWERS[new URL(url, 'http://any').pathname.slice(1)]
  if (!found) throw new Error(`the service has no ${url}`)
  return found
}

/** Runs the execution, segment by segment, at these moments. */
export function modelExecution(input: ModelInput): Left {
  const { drawn, moments } = input
  const state = createState(input)
  let start: SegmentStart = { kind: 'trigger', nodeId: drawn.design.nodes[0]?.id ?? '' }
  let until = 0
  for (const { at, held } of moments) {
    if (state.next) ({ start, until } = state.resume(state.next, held))
    state.run(start, Math.max(at, until), held)
    if (state.next?.kind === 'end') break
  }
  return state.left()
}

function createState({
  drawn,
  world,
  executionId,
  workflowId,
  email,
  enteredAt,
  firstSeen,
}: ModelInput) {
  const design = drawn.design as unknown as Design
  const steps: Step[] = []
  const mails: { node: string; subject: string; marketing: boolean; at: number }[] = []
  const calls: string[] = []
  const happened: { name: string; at: number; properties: JsonObject; taken?: true }[] = []
  const audiences = new Set<string>()
  const waitEvents: Record<string, JsonObject> = {}
  const answers: Record<string, JsonObject> = {}
  const moved = new Set<string>()
  const optOuts: string[] = []
  const parked = { live: 0, cancelled: 0 }
  let children = 0
  let heard = 0
  let joined = 0
  let properties = drawn.properties as JsonObject
  let goalsReached: readonly string[] = []
  let segments = 0
  let next: Next | undefined

  /** Records an event of the contact, and what it starts. */
  function record(name: string, at: number, made: JsonObject = {}): void {
    happened.push({ name, at, properties: made })
    if (optOuts.includes('workspace')) return
    if (name === MADE_EVENT) heard += 1
    if (name === 'audience.joined' && made['audience_id'] === world.audiences[0]) joined += 1
  }

  function facts(now: number, held: boolean): SegmentFacts {
    const eventTimes: Record<string, number[]> = {}
    for (const { name, at } of happened) eventTimes[name] = [...(eventTimes[name] ?? []), at]
    const per_ms = design.settings?.frequency_cap?.per_ms ?? 0
    return {
      executionId,
      workflowId,
      isPaused: held,
      depth: 0,
      enteredAt,
      goalsReached,
      arrived: [...new Set(happened.map(({ name }) => name))],
      now,
      contact: { email, first_seen: firstSeen, properties },
      event: drawn.event as JsonObject,
      trigger: drawn.event as JsonObject,
      waitEvents: { ...waitEvents },
      steps: { ...answers },
      execution: { step_count: steps.length },
      eventTimes,
      emailActivity: Object.fromEntries(mails.map(({ node }) => [node, ['sent']])),
      audiences: [...audiences],
      marketingSent: mails
        .filter((one) => one.marketing && one.at > now - per_ms)
        .map(({ at }) => at),
    }
  }

  function tools(now: number): SegmentTools {
    const refusesMail = ({ category = 'marketing' }: MailContent) => {
      if (optOuts.length > 0 && category === 'marketing') {
        return { kind: 'skipped', why: 'unsubscribed' } as const
      }
      return drawn.suppressed ? ({ kind: 'suppressed' } as const) : null
    }
    return {
      visited: new Set(),
      refusesMail,
      sendEmail(node, mail, at) {
        const refused = refusesMail(mail)
        if (refused) return refused
        const subject = mail.template_id ? 'Of a template' : render(mail.subject ?? '', at)
        const marketing = mail.category !== 'transactional'
        mails.push({ node, subject, marketing, at: now })
        record('email.sent', now)
        return { kind: 'sent' }
      },
      renderText: (_node, source, at) => ({ ok: true, text: render(source, at) }),
    }
  }

  function perform(effect: Effect, at: SegmentFacts): EffectResult {
    switch (effect.kind) {
      case 'send_event': {
        record(effect.eventName, at.now, effect.properties)
        return { ok: true, why: effect.eventName, facts: counted(at, effect.eventName) }
      }
      case 'join_audience':
      case 'leave_audience': {
        const joins = effect.kind === 'join_audience'
        const isMember = audiences.has(effect.audienceId)
        if (joins === isMember) return { ok: true, why: 'unchanged', facts: at }
        if (joins) audiences.add(effect.audienceId)
        else audiences.delete(effect.audienceId)
        const name = joins ? 'audience.joined' : 'audience.left'
        record(name, at.now, { audience_id: effect.audienceId })
        return { ok: true, why: null, facts: counted({ ...at, audiences: [...audiences] }, name) }
      }
      case 'start_workflow':
        if (optOuts.includes('workspace')) return { ok: true, why: 'unsubscribed' }
        if (effect.workflowId === world.child) children += 1
        else parked.live += 1
        return { ok: true, why: null }
      case 'cancel_workflow': {
        const why = `${parked.live} cancelled`
        parked.cancelled += parked.live
        parked.live = 0
        return { ok: true, why }
      }
      case 'unsubscribe':
        optOuts.push(effect.scope)
        if (design.settings?.on_unsubscribe === 'skip_sends') return { ok: true, why: effect.scope }
        return { ok: true, why: effect.scope, end: CANCELLED }
      default:
        return effect satisfies never
    }
  }

  /** One segment: from the start to the next wait, call or end. */
  function run(start: SegmentStart, now: number, held: boolean): void {
    segments += 1
    const shared = tools(now)
    // The step at which it was held is done now.
    const given = facts(now, held)
    if (start.kind === 'released') steps.pop()
    const before = steps.at(-1)
    let outcome = walkSegment(design, start, given, shared)
    const { left } = outcome
    if (left && before) Object.assign(before, { handle: left.handle, why: left.why ?? before.why })
    for (;;) {
      steps.push(...outcome.steps)
      properties = outcome.facts.contact.properties
      goalsReached = outcome.facts.goalsReached
      const reached = outcome.next
      next = reached
      if (reached.kind === 'effect') {
        const result = perform(reached.effect, outcome.facts)
        const at: SegmentStart = { kind: 'effect', nodeId: reached.nodeId, result }
        outcome = walkSegment(design, at, outcome.facts, shared)
        continue
      }
      if (reached.kind === 'call') calls.push(reached.nodeId)
      if (reached.kind !== 'wait' || reached.for !== 'event' || reached.lookbackMs <= 0) return
      const came = happened.findLast(
        ({ name, at, taken }) =>
          !taken && name === reached.eventName && at >= now - reached.lookbackMs,
      )
      if (!came) return
      came.taken = true
      waitEvents[reached.nodeId] = came.properties
      const handle = handleAfterWait(design, reached.nodeId, 'event')
      Object.assign(steps.at(-1) ?? {}, { handle, why: 'came before the wait' })
      outcome = walkSegment(
        design,
        { kind: 'resume', nodeId: reached.nodeId, handle },
        { ...outcome.facts, waitEvents: { ...outcome.facts.waitEvents, ...waitEvents } },
        shared,
      )
    }
  }

  /** How the wait or call before a segment has ended: by what somebody does at that node, else by time. */
  function resume(last: Next, held: boolean): { start: SegmentStart; until: number } {
    if (last.kind === 'call') return { start: called(last.nodeId, last.call.url), until: 0 }
    if (last.kind !== 'wait') throw new Error('there is no segment after the end')
    const { nodeId, since } = last
    if (last.for === 'hold') {
      const start: SegmentStart = held
        ? { kind: 'held', nodeId, since }
        : { kind: 'released', nodeId }
      return { start, until: 0 }
    }
    const start = act(nodeId)
    if (start) return { start, until: 0 }
    const handle = handleAfterWait(design, nodeId, 'timer')
    const byTime: SegmentStart = last.again
      ? { kind: 'again', nodeId, since }
      : { kind: 'resume', nodeId, handle }
    return { start: byTime, until: last.until ?? 0 }
  }

  function act(nodeId: string): SegmentStart | null {
    const { acts } = drawn
    const found = acts[nodeId]
    if (!found || (found.ends === 'moved' && moved.has(nodeId))) return null
    const given = found.properties as JsonObject
    if (found.does === 'patch') properties = mergeProperties(properties, given)
    else record(found.eventName, 0, given)
    switch (found.ends) {
      case 'moved':
        moved.add(nodeId)
        return { kind: 'again', nodeId, since: Number.NaN }
      case 'event':
        waitEvents[nodeId] = given
        return { kind: 'resume', nodeId, handle: handleAfterWait(design, nodeId, 'event') }
      case 'condition':
        return { kind: 'resume', nodeId, handle: handleAfterWait(design, nodeId, 'condition') }
      case 'exited':
        return { kind: 'interrupted', nodeId, by: { kind: 'end', outcome: 'exited' } }
      default:
        return { kind: 'interrupted', nodeId, by: { kind: 'goal', nodeId: found.ends.goal } }
    }
  }

  function called(nodeId: string, url: string): SegmentStart {
    const { status, body, result } = answerOf(url)
    answers[nodeId] = { status, body }
    return { kind: 'called', nodeId, result }
  }

  function left(): Left {
    const events: Record<string, number> = {}
    for (const { name } of happened) events[name] = (events[name] ?? 0) + 1
    const laps = new Map<string, number>()
    const keys = calls.map((node) => {
      laps.set(node, (laps.get(node) ?? 0) + 1)
      return `${executionId}:${node}:${laps.get(node)}`
    })
    const counters = { child: children, heard, joined }
    const counted = Object.entries(counters).filter(([, count]) => count > 0)
    return {
      steps: steps.map(({ nodeId, handle, why }) => lineOf(nodeId, handle, why)),
      mails: mails.map(({ node, subject }) => `${node} ${subject}`),
      calls: keys.sort(),
      events,
      audiences: [...audiences].sort(),
      properties: { ...properties, ...Object.fromEntries(counted) },
      children,
      parked,
      optOuts: [...new Set(optOuts)].sort(),
      end: next?.kind === 'end' ? `${next.status} ${next.outcome} ${next.error}` : `${next?.kind}`,
      segments,
    }
  }

  return {
    get next() {
      return next
    },
    run(start: SegmentStart, now: number, held: boolean): void {
      const isMoved = start.kind === 'again' && Number.isNaN(start.since)
      run(isMoved ? { ...start, since: now } : start, now, held)
    },
    resume,
    left,
  }
}

/** Facts after an event that the segment itself has recorded. */
function counted(at: SegmentFacts, name: string): SegmentFacts {
  const eventTimes = { ...at.eventTimes, [name]: [...(at.eventTimes[name] ?? []), at.now] }
  return { ...at, arrived: [...(at.arrived ?? []), name], eventTimes }
}

/** A step as it is compared. */
export const lineOf = (nodeId: string, handle: string | null, why: string | null): string =>
  `${nodeId} ${handle ?? '-'} ${why ?? ''}`.trim()

const CANCELLED: End = {
  kind: 'end',
  status: 'CANCELLED',
  outcome: null,
  error: null,
  reason: { code: 'unsubscribed', text: 'unsubscribed' },
}

/** The one thing that texts of drawn designs read. */
const render = (source: string, { contact }: SegmentFacts): string =>
  source.replaceAll('{{ properties.count }}', String(contact.properties['count'] ?? ''))
