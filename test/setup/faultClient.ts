// Sends random messages through a relay to the fault sink and checks every outcome.
import fc from 'fast-check'
import { expect } from 'vitest'
import { createRelayTransport } from '../../mail/smtp/relay.ts'
import type { Outcome, Trace } from '../../mail/transport.ts'
import { eventually } from './eventually.ts'
import {
  type Fault,
  faults,
  keptFaults,
  localPartOf,
  recipientSteps,
  type Step,
} from './faultPlans.ts'
import { type FaultSink, type FaultSinkOptions, startFaultSink } from './faultSink.ts'

const PHASE_MS = 150
/** The longest run, because each phase of each message has a timeout. */
const RUN_MS = 20_000

const timeouts = {
  connectMs: 1_000,
  bannerMs: PHASE_MS,
  commandMs: PHASE_MS,
  dataMs: PHASE_MS,
  bodyMs: PHASE_MS,
  dotMs: PHASE_MS,
}

const line = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 60 }),
  fc.constantFrom('', '.', '..', '.a', 'DATA', 'QUIT', 'x'.repeat(998), `.${'y'.repeat(997)}`),
)
const message = fc
  .record({
    lines: fc.array(line, { maxLength: 12 }),
    end: fc.constantFrom('\r\n', '', '\r\n.\r\n', '\r\n\r\n'),
    repeat: fc.constantFrom(1, 1, 1, 200),
  })
  .map(({ lines, end, repeat }) =>
    Buffer.from(`From: a@a.test\r\n\r\n${`${lines.join('\r\n')}\r\n`.repeat(repeat)}${end}`),
  )

const plan = fc.record({
  step: fc.constantFrom(...recipientSteps),
  fault: fc.constantFrom<Fault>(...faults, ...keptFaults),
  times: fc.integer({ min: 0, max: 2 }),
})

const mail = fc.record({
  message,
  plan,
  /** The answer of beforeDot. */
  lease: fc.constantFrom('yes', 'yes', 'yes', 'later', 'no', 'throws'),
  tries: fc.integer({ min: 1, max: 3 }),
  outsideAscii: fc.boolean(),
})

const opening = fc.record({
  step: fc.constantFrom<Step>('banner', 'ehlo', 'starttls', 'mail', 'rset'),
  fault: fc.constantFrom(...faults),
})

/** A server, its messages, and the fault of each. */
export const scenario = fc.record({
  mails: fc.array(mail, { minLength: 1, maxLength: 8 }),
  connections: fc.integer({ min: 1, max: 3 }),
  pipelining: fc.boolean(),
  smtputf8: fc.boolean(),
  dataAlways: fc.boolean(),
  closeAfter: fc.constantFrom(1, 2, 1_000),
  /** Fault of each connection by its number; null: none. */
  openings: fc.array(fc.option(opening, { freq: 3 }), { maxLength: 4 }),
})

export type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never

interface Sending {
  to: string
  message: Buffer
  outcomes: Outcome[]
  /** Answers of beforeDot, in order. */
  leases: string[]
}

/** Runs a case. @throws if an outcome does not match what the server saw */
export async function runScenario(given: Scenario): Promise<void> {
  const { openings, mails, connections, ...rest } = given
  const options: FaultSinkOptions = {
    ...rest,
    opening: (connection) => openings[connection - 1] ?? undefined,
  }
  const sink = await startFaultSink(options)
  const transport = createRelayTransport({
    url: sink.url,
    connections,
    ehloName: 'us.test',
    timeouts,
  })
  try {
    const sendings = await within(
      RUN_MS,
      Promise.all(mails.map((one, i) => sendAll(transport.send, one, i))),
    )
    await within(RUN_MS, transport.close())
    // The server may still process a message that the client has given up.
    await eventually(() => expect(sink.open(), 'sockets left open').toBe(0), {
      deadline_ms: RUN_MS,
    })
    for (const sending of sendings) audit(sending, sink)
    expect(sink.seen.strange, 'what got out of a mail').toEqual([])
    const known = new Set(sendings.map(({ to }) => to))
    expect([...sink.seen.attempts.keys()].filter((to) => !known.has(to))).toEqual([])
  } finally {
    await transport.close()
    await sink.close()
  }
}

async function sendAll(
  send: ReturnType<typeof createRelayTransport>['send'],
  { message, plan, lease, tries, outsideAscii }: Scenario['mails'][number],
  number: number,
): Promise<Sending> {
  const tag = `m${number}${outsideAscii ? 'ü' : ''}`
  const to = `${localPartOf(tag, plan)}@b.test`
  const sending: Sending = { to, message, outcomes: [], leases: [] }
  const envelope = { from: 'b+1.00@a.test', to, bytes: message.length }
  for (let i = 0; i < tries; i++) {
    let asked = 0
    const trace: Trace = {
      domainExists: null,
      host: null,
      address: null,
      tls: null,
      lines: [],
      phase_ms: {},
    }
    const beforeDot = async () => {
      asked += 1
      sending.leases.push(lease)
      if (lease === 'later') await new Promise((resolve) => setTimeout(resolve, 20))
      if (lease === 'throws') throw new Error('no database')
      return lease !== 'no'
    }
    const outcome = await send(envelope, message, beforeDot, trace)
    expect(asked, 'calls of beforeDot').toBeLessThanOrEqual(1)
    sending.outcomes.push(outcome)
    const { length } = trace.lines
    await Promise.resolve()
    expect(trace.lines, 'a finished trace').toHaveLength(length)
    if (outcome.kind === 'delivered') break
  }
  return sending
}

/** The server must have accepted at least the `delivered` messages, and at most also the `ambiguous` ones. */
function audit({ to, message, outcomes, leases }: Sending, sink: FaultSink): void {
  const count = (kind: Outcome['kind']) => outcomes.filter((one) => one.kind === kind).length
  const accepted = sink.acceptedFor(to)
  const said = `${to}: ${JSON.stringify(outcomes)}`
  expect(accepted.length, said).toBeGreaterThanOrEqual(count('delivered'))
  expect(accepted.length, said).toBeLessThanOrEqual(count('delivered') + count('ambiguous'))
  const dots = sink.seen.dots.filter((one) => one === to).length
  const granted = leases.filter((lease) => lease === 'yes' || lease === 'later').length
  expect(dots, `dots of ${said}`).toBeLessThanOrEqual(granted)
  const whole = message.subarray(-2).toString() === '\r\n' ? '' : '\r\n'
  for (const { bytes, from } of accepted) {
    expect(from).toBe('b+1.00@a.test')
    expect(bytes.toString('latin1'), said).toBe(message.toString('latin1') + whole)
  }
}

async function within<T>(limit_ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it hangs: ${limit_ms} ms`)), limit_ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
