// Random servers, faults and messages: every outcome is safe. FAULT_RUNS makes it longer; FAULT_SEED repeats a
// run.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import { eventually } from '../../setup/eventually.ts'
import { runScenario, type Scenario, scenario } from '../../setup/faultClient.ts'
import { faults, keptFaults, localPartOf, recipientSteps } from '../../setup/faultPlans.ts'
import { startFaultSink } from '../../setup/faultSink.ts'

const runs = Number(process.env['FAULT_RUNS'] ?? 40)
const seed = process.env['FAULT_SEED']

test(`the outcome is right for any fault (${runs} runs)`, {
  timeout: 60_000 + runs * 5_000,
}, async () => {
  await fc.assert(fc.asyncProperty(scenario, runScenario), {
    numRuns: runs,
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    interruptAfterTimeLimit: 30_000 + runs * 4_000,
  })
})

const plain: Omit<Scenario, 'mails'> = {
  connections: 1,
  pipelining: true,
  smtputf8: false,
  dataAlways: false,
  closeAfter: 1_000,
  openings: [],
}
const message = Buffer.from('From: a@a.test\r\n\r\n.\r\n..\r\nHello\r\n')

test.each(
  recipientSteps.flatMap((step) =>
    [...faults, ...keptFaults].map((fault) => [step, fault] as const),
  ),
)('at %s, %s: right, pipelined and not', async (step, fault) => {
  const plan = { step, fault, times: 1 }
  const mail: Scenario['mails'][number] = {
    message,
    plan,
    lease: 'yes',
    tries: 2,
    outsideAscii: false,
  }
  for (const pipelining of [true, false]) {
    await runScenario({ ...plain, pipelining, mails: [mail, mail] })
  }
})

test('a connection cut off at MAIL and reset at RCPT, pipelined: nothing stays open', async () => {
  const plan = { step: 'rcpt', fault: 'kept_rst', times: 1 } as const
  const openings = [{ step: 'mail', fault: 'drop' } as const]
  const mail = { message, plan, lease: 'yes', tries: 1, outsideAscii: false } as const
  await runScenario({ ...plain, openings, mails: [mail] })
})

test.each(['drop', 'rst', 'hang', '5xx', 'junk', 'early', undefined] as const)(
  'TLS that is required and fails (STARTTLS: %s): nothing is sent in the clear, nothing stays open',
  async (fault) => {
    const sink = await startFaultSink({
      starttls: 'garbage',
      opening: () => (fault ? { step: 'starttls', fault } : undefined),
    })
    const transport = createRelayTransport({
      url: `${sink.url}?tls=required`,
      connections: 1,
      ehloName: 'us.test',
      timeouts: { commandMs: 150 },
    })
    const envelope = { from: 'b@a.test', to: 'bo@b.test', bytes: message.length }
    const outcome = await transport.send(envelope, message, async () => true)
    expect(outcome).toMatchObject({ kind: fault === '5xx' ? 'rejected' : 'failed', phase: 'tls' })
    await transport.close()
    await eventually(() => expect(sink.open()).toBe(0))
    expect([...sink.seen.attempts.keys()]).toEqual([])
    await sink.close()
  },
)

test('the local part of a recipient selects its fault', () => {
  expect(localPartOf('a', { step: 'rcpt', fault: '4xx', times: 2 })).toBe('a+rcpt-4xx-2')
})
