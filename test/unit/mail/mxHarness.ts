// Direct delivery to servers on 127.0.0.2 and following addresses, which a real name server names as mail hosts.
import { afterAll, beforeAll } from 'vitest'
import { randomPort } from '../../../dev/processes/ports.ts'
import { createDns, type Dns } from '../../../mail/dns/resolver.ts'
import { createMxTransport, type MxOptions, type MxTransport } from '../../../mail/smtp/mx.ts'
import type { Outcome, Trace } from '../../../mail/transport.ts'
import { type NameServer, startNameServer } from '../../setup/nameServer.ts'
import { type Script, startFaultServer } from './faultServer.ts'
import { closeAfterTest } from './relayHarness.ts'
import { sendTo, small } from './smtpServer.ts'

const FETCH_WAIT_MS = 300_000

/** Hosts h1 to h5 are 127.0.0.1 to 127.0.0.5. */
const zones = {
  'acme.test': `
    h1 A 127.0.0.1
    h2 A 127.0.0.2
    h3 A 127.0.0.3
    h4 A 127.0.0.4
    h5 A 127.0.0.5
    wide A 127.0.0.2
    wide A 127.0.0.3
    inner A 10.0.0.1
    inner AAAA fd00::1
    one MX 10 h2
    local MX 10 h1
    also MX 10 h2
    two MX 10 h2
    two MX 20 h3
    turned MX 10 h3
    turned MX 20 h2
    equal MX 10 h2
    equal MX 10 h3
    equal MX 10 h4
    mixed MX 20 h4
    mixed MX 10 h2
    mixed MX 10 h3
    mixed MX 30 h5
    hosts MX 10 wide
    implicit A 127.0.0.2
    alias CNAME one
    null MX 0 .
    spare MX 0 .
    spare MX 10 h2
    empty TXT "no mail here"
    gone MX 10 nowhere
    gone MX 20 h3
    lost MX 10 nowhere
    loop MX 10 h2
    loop MX 20 us
    loop MX 20 h3
    loop MX 30 h4
    self MX 10 us
    literal MX 5 127.0.0.2.
    literal MX 10 h3
    only MX 5 127.0.0.2.
    inward MX 10 inner
    us A 127.0.0.1
    shop MX 10 shop-test.mail.protection.outlook.com.
    bank MX 10 bank-test.mail.protection.outlook.com.
    dead MX 10 dead-test.mail.protection.outlook.com.
    beside MX 10 shop-test.mail.protection.outlook.com.
    beside MX 10 h9
    ghost MX 10 dead-test.mail.protection.outlook.com.
    ghost MX 20 h4
    spared MX 10 shop-test.mail.protection.outlook.com.
    spared MX 20 h4
    hosted1 MX 10 mx.hosted1
    mx.hosted1 A 127.0.0.2
    hosted2 MX 10 mx.hosted2
    mx.hosted2 A 127.0.0.2
    backed1 MX 10 h2
    backed1 MX 20 h3
    backed2 MX 10 h2
    backed2 MX 20 h4
    three MX 10 h3
    four MX 10 h4
    `,
  'mail.protection.outlook.com': `
    shop-test A 127.0.0.2
    bank-test A 127.0.0.3
    `,
  'broken.test': null,
}

/** Starts the name server of a test file with the zones above. */
export function useNameServer(): { dns: () => Dns } {
  let server: NameServer
  beforeAll(async () => {
    server = await startNameServer(zones)
  }, FETCH_WAIT_MS)
  afterAll(() => server.close())
  return { dns: () => createDns({ servers: [server.address], timeoutMs: 2_000 }) }
}

/** Finds a port that is free on several addresses, and makes a transport that sends to it. */
export async function createStage(dns: Dns, options: Partial<MxOptions> = {}) {
  const port = await randomPort()
  const timeouts = { connectMs: 2_000, bannerMs: 250, commandMs: 250, dataMs: 250, dotMs: 250 }
  const transport = createMxTransport({
    dns,
    port,
    ehloName: 'us.acme.test',
    allowPrivate: true,
    random: () => 0,
    ...options,
    timeouts: { ...timeouts, ...options.timeouts },
  })
  closeAfterTest(transport)
  return {
    port,
    transport,
    /** A scripted server on 127.0.0.`host`. */
    async serve(host: number, script?: Script) {
      const server = await startFaultServer(script, port, `127.0.0.${host}`)
      closeAfterTest(server)
      return server
    },
    send: (domain: string, trace?: Trace) => sendTo(transport, `b@${domain}`, small, trace),
    /** Sends so many messages at a time to one destination. */
    sendMany: (count: number) =>
      Promise.all(Array.from({ length: count }, () => sendTo(transport, 'b@one.acme.test'))),
    /** Resolves when everything except the dot is sent. The dot follows when it is released. */
    sendHeld: (domain: string) => sendHeld(transport, domain),
    state: () => stateOf(transport),
  }
}

function sendHeld(transport: MxTransport, domain: string) {
  return new Promise<{ sending: Promise<Outcome>; letGo: () => void }>((reach) => {
    const envelope = { from: 'f@a.test', to: `b@${domain}`, bytes: small.length }
    const sending = transport.send(envelope, small, () => {
      return new Promise((resolve) => reach({ sending, letGo: () => resolve(true) }))
    })
  })
}

/** The only destination of a transport. */
function stateOf(transport: MxTransport) {
  const [state, ...others] = transport.destinations()
  if (!state || others.length > 0) throw new Error('there is not exactly one destination')
  return state
}
