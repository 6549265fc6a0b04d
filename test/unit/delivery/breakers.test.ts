// Which breaker a refusal opens, whom it stops, and what closes it.
// Long because every case sends mail through the same breakers and clock, which its head makes.
import { expect, test } from 'vitest'
import { type Admission, createBreakers } from '../../../delivery/breakers.ts'
import { createRooms } from '../../../delivery/lane/rooms.ts'
import { refusalOf } from '../../../delivery/nextState.ts'
import { rejection } from '../../../mail/smtp/outcomes.ts'
import type { Outcome } from '../../../mail/transport.ts'
import { addressDomain } from '../../../rules/addresses.ts'
import type { Phase } from '../../../rules/mail/phases.ts'

const MINUTE_MS = 60_000
const delivered: Outcome = { kind: 'delivered', reply: '250 2.0.0 Ok' }
const unknown = rejection('rcpt', '550 5.1.1 no such user')
const login = rejection('mail', '530 5.7.0 Authentication required')
const address = rejection('rcpt', '550 5.7.606 Access denied, banned sending IP [192.0.2.1]')
const sender = rejection('mail', '550 5.1.8 Sender address rejected: Domain not found')

function start(mode: 'relay' | 'mx', max?: number) {
  let time = 0
  const said: string[] = []
  const say = (fields: object, text: string) => void said.push(`${text}: ${JSON.stringify(fields)}`)
  const breakers = createBreakers({
    mode,
    log: { info: say, warn: say } as never,
    now: () => new Date(time),
    random: () => 0.5,
    ...(max === undefined ? {} : { max }),
  })
  /** @param destination the provider behind the recipient's domain; absent: none */
  const admit = (
    domain_id: string,
    recipient: string,
    destination = addressDomain(recipient).toLowerCase(),
  ) => breakers.admit({ recipient, domain_id, destination })
  const end = (admission: Admission, outcome: Outcome | null) => {
    if (admission.kind === 'busy') return 'busy'
    const refusal = outcome && refusalOf(outcome, mode === 'relay')
    admission.ended(outcome, refusal)
    return 'tried'
  }
  return {
    said,
    admit,
    end,
    open: breakers.countOpen,
    passage: breakers.passage,
    /** Sends a mail, whose outcome would be this one. @returns whether it was tried */
    send: async (
      domain: string,
      recipient: string,
      outcome: Outcome | null,
      destination?: string,
    ) => end(await admit(domain, recipient, destination), outcome),
    pass: (ms: number) => {
      time += ms
    },
  }
}

test.each([
  ['account', login],
  ['address', address],
] as const)('%s at a relay: the first refusal closes it for all mail', async (kind, outcome) => {
  const { send, open, pass } = start('relay')
  expect(await send('dom_a', 'x@one.test', delivered)).toBe('tried')
  expect(await send('dom_a', 'x@one.test', outcome)).toBe('tried')
  expect(open()).toEqual({ sender: 0, address: 0, account: 0, [kind]: 1 })
  expect(await send('dom_a', 'x@two.test', delivered)).toBe('busy')
  // One of another domain at once.
  expect(await send('dom_b', 'x@two.test', outcome)).toBe('tried')
  expect(await send('dom_c', 'x@two.test', delivered)).toBe('busy')
  pass(MINUTE_MS)
  expect(await send('dom_c', 'x@two.test', delivered)).toBe('tried')
  expect(open()).toEqual({ sender: 0, address: 0, account: 0 })
  expect(await send('dom_a', 'x@two.test', delivered)).toBe('tried')
})

test('when the clock was set back, a mail is tried at once', async () => {
  const { send, passage, pass } = start('relay')
  expect(await send('dom_a', 'x@one.test', login)).toBe('tried')
  expect(passage()).toBe('none')
  pass(-60 * MINUTE_MS)
  expect(passage()).toBe('tries')
  expect(await send('dom_a', 'x@one.test', login)).toBe('tried')
  expect(passage()).toBe('none')
  pass(MINUTE_MS)
  expect(await send('dom_a', 'x@one.test', delivered)).toBe('tried')
  expect(passage()).toBe('all')
})

test('a sender that a relay refuses is closed there alone', async () => {
  const { send, open } = start('relay')
  expect(await send('dom_a', 'x@one.test', sender)).toBe('tried')
  expect(await send('dom_a', 'x@two.test', delivered)).toBe('busy')
  expect(open()).toEqual({ sender: 1, address: 0, account: 0 })
  for (let n = 0; n < 20; n++) expect(await send('dom_b', 'x@one.test', delivered)).toBe('tried')
  expect(await send('dom_a', 'x@two.test', delivered), 'what others send proves nothing').toBe(
    'busy',
  )
})

test('in direct delivery the third refusal within a minute closes one destination', async () => {
  const { send, open, pass } = start('mx')
  for (let n = 0; n < 2; n++) expect(await send('dom_a', 'x@one.test', address)).toBe('tried')
  pass(MINUTE_MS + 1)
  for (let n = 0; n < 2; n++) expect(await send('dom_a', 'x@ONE.test', address)).toBe('tried')
  expect(open().address).toBe(0)
  expect(await send('dom_b', 'x@one.test', address)).toBe('tried')
  expect(open().address).toBe(1)
  expect(await send('dom_b', 'x@one.test', delivered)).toBe('busy')
  expect(await send('dom_b', 'x@two.test', delivered)).toBe('tried')
})

test('in direct delivery a sender is closed at one destination', async () => {
  const { send, open } = start('mx')
  for (let n = 0; n < 3; n++) expect(await send('dom_a', 'x@one.test', sender)).toBe('tried')
  expect(open().sender).toBe(1)
  expect(await send('dom_a', 'x@one.test', delivered)).toBe('busy')
  expect(await send('dom_a', 'x@two.test', delivered)).toBe('tried')
  expect(await send('dom_b', 'x@one.test', delivered)).toBe('tried')
})

test.each([
  ['address', address, 'busy'],
  ['sender', sender, 'tried'],
] as const)(
  'in direct delivery %s is closed at a provider for all domains behind it',
  async (kind, outcome, others) => {
    const { send, open } = start('mx')
    for (let n = 0; n < 3; n++) {
      expect(await send('dom_a', `x@customer${n}.test`, outcome, 'microsoft')).toBe('tried')
    }
    expect(open()[kind]).toBe(1)
    expect(await send('dom_a', 'x@customer3.test', delivered, 'microsoft')).toBe('busy')
    expect(await send('dom_a', 'x@customer3.test', delivered, 'google')).toBe('tried')
    expect(await send('dom_a', 'x@customer4.test', delivered)).toBe('tried')
    // The first of another domain goes at once.
    expect(await send('dom_b', 'x@customer3.test', outcome, 'microsoft')).toBe('tried')
    expect(await send('dom_c', 'x@customer3.test', delivered, 'microsoft')).toBe(others)
  },
)

test.each<[string, Outcome | null, boolean]>([
  ['a delivery', delivered, true],
  ['a refusal for another reason', unknown, true],
  ['a refusal of the sender, after the login', sender, true],
  ['a connection that fails', { kind: 'failed', phase: 'connect', error: 'refused' }, false],
  ['no answer after the dot', { kind: 'ambiguous', error: 'reset' }, false],
  ['a refusal before MAIL', rejection('ehlo', '454 4.7.0 Temporary authentication failure'), false],
  ['a lost lease', { kind: 'lost_lease' }, false],
  ['a mail that could not be composed', null, false],
])('%s closes it: %#', async (_, outcome, closes) => {
  const { send, open, pass } = start('relay')
  await send('dom_a', 'x@one.test', login)
  pass(MINUTE_MS)
  expect(await send('dom_a', 'x@one.test', outcome)).toBe('tried')
  expect(open().account).toBe(closes ? 0 : 1)
})

test('a mail that was not tried after all leaves its turn to the next', async () => {
  const { send, pass } = start('relay')
  await send('dom_a', 'x@one.test', login)
  pass(MINUTE_MS)
  const busy: Outcome = { kind: 'busy', error: 'full', retryAfter_ms: 1 }
  expect(await send('dom_a', 'x@one.test', busy)).toBe('tried')
  expect(await send('dom_a', 'x@one.test', null)).toBe('tried')
  expect(await send('dom_a', 'x@one.test', login)).toBe('tried')
  expect(await send('dom_a', 'x@one.test', delivered)).toBe('busy')
})

test('of all breakers that a mail is about, none counts it as tried unless each lets it pass', async () => {
  const { send, pass, open } = start('relay')
  await send('dom_a', 'x@one.test', sender)
  pass(30_000)
  await send('dom_b', 'x@one.test', login)
  expect(open()).toEqual({ sender: 1, address: 0, account: 1 })
  pass(30_000)
  // The sender's minute is over, the account's is not, but this is another domain than the one that failed.
  expect(await send('dom_a', 'x@one.test', login)).toBe('tried')
  pass(30_000)
  expect(await send('dom_a', 'x@one.test', delivered)).toBe('busy')
  pass(30_000)
  expect(await send('dom_a', 'x@one.test', delivered)).toBe('tried')
  expect(open()).toEqual({ sender: 0, address: 0, account: 0 })
})

test('a relay that has answered nothing yet is asked by a few deliveries first', async () => {
  const { admit, end } = start('relay')
  const asked = Array.from({ length: 50 }, (_, n) => admit('dom_a', `x${n}@one.test`))
  const ahead = await Promise.all(asked.slice(0, 5))
  for (const admission of ahead) expect(end(admission, login)).toBe('tried')
  const rest = await Promise.all(asked.slice(5))
  expect(rest.every(({ kind }) => kind === 'busy')).toBe(true)
})

test('so many are remembered, and those without mail for an hour are forgotten', async () => {
  const { send, open, pass } = start('relay', 100)
  for (let n = 0; n < 150; n++) await send(`dom_${n}`, 'x@one.test', sender)
  expect(open().sender).toBe(100)
  expect(await send('dom_149', 'x@one.test', delivered)).toBe('busy')
  expect(await send('dom_0', 'x@one.test', delivered)).toBe('tried')
  pass(61 * MINUTE_MS)
  expect(open().sender).toBe(0)
})

test('the log says when one opens and when it closes, without an address', async () => {
  const { send, said, pass } = start('relay')
  await send('dom_a', 'secret@one.test', sender)
  pass(MINUTE_MS)
  await send('dom_a', 'secret@one.test', delivered)
  const fields = '"kind":"sender","destination":"relay","domain_id":"dom_a"'
  expect(said).toEqual([
    `a breaker opened: one mail a minute is tried: {${fields},"code":550}`,
    `a breaker closed: {${fields}}`,
  ])
})

const phases: Phase[] = ['banner', 'ehlo', 'tls', 'mail', 'rcpt', 'data', 'body', 'dot']

test('a login refused in any phase is the account of a relay', () => {
  for (const phase of phases) {
    for (const reply of ['530 5.7.0 Authentication required', '535 5.7.8 Error', '535 bad login']) {
      const refusal = refusalOf(rejection(phase, reply), true)
      expect(refusal, `${phase}: ${reply}`).toMatchObject({
        fault: 'ours',
        speaksOf: 'account',
        final: false,
      })
    }
  }
})

test.each([
  ['relay', login, 'none'],
  ['relay', address, 'none'],
  ['relay', sender, 'all'],
  ['relay', unknown, 'all'],
  // In direct delivery a breaker closes one destination.
  ['mx', login, 'all'],
] as const)(
  'in the mode %s a refusal lets through to all mail: %o, %s',
  async (mode, outcome, expected) => {
    const { send, passage, pass } = start(mode)
    expect(passage()).toBe('all')
    for (let n = 0; n < 3; n++) await send('dom_a', 'x@one.test', outcome)
    expect(passage()).toBe(expected)
    pass(MINUTE_MS)
    expect(passage()).toBe(expected === 'none' ? 'tries' : 'all')
    // The one that is tried finds it still closed.
    await send('dom_b', 'x@one.test', outcome)
    expect(passage()).toBe(expected)
    pass(MINUTE_MS)
    await send('dom_c', 'x@one.test', delivered)
    expect(passage()).toBe('all')
  },
)

test('a lane claims at once, every second or every five, by what breakers let through', () => {
  let time = 1_000_000
  let passage: 'all' | 'tries' | 'none' = 'all'
  const rooms = createRooms(
    { rooms: () => ({ known: new Map(), other: Number.POSITIVE_INFINITY }) },
    { breakers: { passage: () => passage }, now: () => new Date(time) },
  )
  /** Milliseconds at which it may claim, asked every 500. */
  const claims = (during_ms: number) => {
    const at: number[] = []
    for (let ms = 0; ms < during_ms; ms += 500, time += 500) if (rooms.mayClaim()) at.push(ms)
    return at
  }
  expect(claims(2_000)).toEqual([0, 500, 1_000, 1_500])
  passage = 'none'
  expect(claims(11_000)).toEqual([4_500, 9_500])
  passage = 'tries'
  expect(claims(2_500)).toEqual([0, 1_000, 2_000])
  passage = 'all'
  expect(claims(1_000)).toEqual([0, 500])
  // A clock that was set back.
  passage = 'none'
  time -= 3_600_000
  expect(rooms.mayClaim()).toBe(true)
})
