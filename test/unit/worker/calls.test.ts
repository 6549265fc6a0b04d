// The client for the requests of nodes asks the DNS servers of the settings, and judges what they answer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OutboundError } from '../../../runtime/outbound.ts'
import { createCalls } from '../../../worker/calls.ts'
import { type NameServer, startNameServer } from '../../setup/nameServer.ts'

let server: NameServer
beforeAll(async () => {
  server = await startNameServer({
    'acme.test':
      'inner A 127.0.0.1\nouter CNAME inner\nsix AAAA ::1\nmeta A 169.254.169.254\nmail MX 1 inner',
  })
}, 120_000)
afterAll(() => server.close())

const faultOf = async (host: string) => {
  const { outbound } = createCalls({ allowPrivateHttp: false, dnsServers: [server.address] })
  const url = new URL(`http://${host}/`)
  const usual = { method: 'GET', headers: {}, body: null, timeout_ms: 60_000, bytesMax: 1_000 }
  const err = await outbound({ ...usual, url }).catch((thrown: unknown) => thrown)
  return err instanceof OutboundError ? err.fault : err
}

test.each([
  ['inner.acme.test', 'forbidden'],
  ['outer.acme.test', 'forbidden'],
  ['outer.acme.test.', 'forbidden'],
  ['six.acme.test', 'forbidden'],
  ['meta.acme.test', 'forbidden'],
  ['mail.acme.test', 'unknown_host'],
  ['none.acme.test', 'unknown_host'],
  ['refused.test', 'unknown_host'],
  ['127.0.0.1', 'forbidden'],
])('%s is %s', async (host, fault) => {
  expect(await faultOf(host)).toBe(fault)
})
