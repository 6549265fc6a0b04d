// A process that posts emails and events at a fixed rate, as a customer does, and measures how late each answer is.
import { setTimeout as pause } from 'node:timers/promises'
import { EVENT_NAME } from '../payloads.ts'
import { serve } from '../remote.ts'
import { createAgent, send } from './client.ts'

const CONNECTIONS_MAX = 400
const TICK_MS = 10

/** How the answers to one kind of request were. */
export interface Answered {
  sent: number
  /** Counts by status; 0 is no answer. One that refused has its body behind the status. */
  statuses: Record<string, number>
  p50_ms: number
  p99_ms: number
  max_ms: number
  /** The latest answer of each second, by when its request was due. */
  worst_ms: number[]
}

export interface SteadyInput {
  port: number
  key: string
  /** Sends from this address. */
  from: string
  seconds: number
  /** Emails, and events; executions are a twentieth of it. */
  perSecond: number
  /** The event that starts an execution. */
  flowEvent: string
  /** Number of the first request. No two runs may use the same numbers. */
  first: number
  /** Only these; all kinds when absent. */
  only?: readonly (keyof typeof kinds)[]
}

const agent = createAgent(CONNECTIONS_MAX)

const html = `<h1>Your order</h1>${'<p>One line of what was bought, and for how much.</p>'.repeat(30)}`

/** Executions take the most work, so there are fewer of them. */
const FLOW_PART = 1 / 20

const kinds = {
  emails: ({ from }: Pick<SteadyInput, 'from'>, serial: number) => ({
    path: '/v1/emails',
    body: {
      from,
      to: `customer-${serial}@mail-${serial % 50}.example.test`,
      subject: `Order ${serial}`,
      html,
    },
  }),
  events: (_input: object, serial: number) => ({
    path: '/v1/automation/events',
    body: { event_name: EVENT_NAME, email: `visitor-${serial % 2_000}@example.test` },
  }),
  flows: ({ flowEvent }: Pick<SteadyInput, 'flowEvent'>, serial: number) => ({
    path: '/v1/automation/events',
    body: { event_name: flowEvent, email: `new-${serial}@example.test` },
  }),
}

/** A request's time counts from when it was due, so that waiting in this process shows too. */
async function postOne(kind: keyof typeof kinds, input: SteadyInput, serial: number, due: number) {
  const { path, body } = kinds[kind](input, serial)
  const answer = await send(agent, {
    port: input.port,
    path,
    key: input.key,
    body: JSON.stringify(body),
  })
  const isRefused = answer.status < 200 || answer.status > 299
  const status = isRefused ? `${answer.status} ${answer.body}` : String(answer.status)
  return { status, due, late_ms: performance.now() - due }
}

async function postAll(kind: keyof typeof kinds, input: SteadyInput): Promise<Answered> {
  const share = kind === 'flows' ? FLOW_PART : 1
  const perSecond = input.only && !input.only.includes(kind) ? 0 : input.perSecond * share
  const wanted = Math.round(input.seconds * perSecond)
  const began = performance.now()
  const answers: ReturnType<typeof postOne>[] = []
  while (answers.length < wanted) {
    const dueNow = Math.min(wanted, ((performance.now() - began) / 1000) * perSecond)
    while (answers.length < dueNow) {
      const due = began + (answers.length / perSecond) * 1000
      answers.push(postOne(kind, input, input.first + answers.length, due))
    }
    await pause(TICK_MS)
  }
  return summary(await Promise.all(answers), began)
}

function summary(
  answers: { status: string; due: number; late_ms: number }[],
  began: number,
): Answered {
  const times = answers.map(({ late_ms }) => late_ms).sort((a, b) => a - b)
  const at = (part: number) => Math.round(times[Math.ceil(times.length * part) - 1] ?? 0)
  const statuses: Record<string, number> = {}
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
  const worst_ms: number[] = []
  for (const { due, late_ms } of answers) {
    const second = Math.floor((due - began) / 1000)
    worst_ms[second] = Math.max(worst_ms[second] ?? 0, Math.round(late_ms))
  }
  const slowest = { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1), worst_ms }
  return { sent: answers.length, statuses, ...slowest }
}

const handlers = {
  /** Posts all kinds at once for the given time, and waits for all answers. */
  async run(input: SteadyInput): Promise<Record<keyof typeof kinds, Answered>> {
    const [emails, events, flows] = await Promise.all([
      postAll('emails', input),
      postAll('events', input),
      postAll('flows', input),
    ])
    return { emails, events, flows }
  },
}

export type SteadyLoad = typeof handlers

serve(handlers)
