// 8-bit mail for the postmaster: said to be so where the server offers it, and not sent to one that does not.
import { expect, test } from 'vitest'
import { createPostmaster } from '../../../inbound/reports/postmaster.ts'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import { startFaultServer } from '../mail/faultServer.ts'
import { closeAfterTest } from '../mail/relayHarness.ts'

const message = Buffer.from('From: a@b.test\r\nSubject: Zo\u00eb\r\n\r\nH\u00e9llo\r\n')

async function forwardTo(offers: string) {
  const ehlo = `250-a.test\r\n${offers}250 PIPELINING`
  const server = await startFaultServer((step) => (step === 'ehlo' ? ehlo : undefined))
  const url = `smtp://127.0.0.1:${server.port}`
  const transport = createRelayTransport({ url, connections: 1, ehloName: 'us.test' })
  closeAfterTest(server, transport)
  const postmaster = createPostmaster({
    to: 'ops@o.test',
    names: ['mx.test'],
    isSendingDomain: async () => true,
    transport,
    now: () => new Date(),
    count: () => {},
  })
  const forwarded = postmaster.forward({
    from: 'a@b.test',
    helo: 'x',
    address: '192.0.2.1',
    message,
  })
  return { forwarded, seen: server.seen }
}

test('a server that offers 8BITMIME and SMTPUTF8 is told of both', async () => {
  const { forwarded, seen } = await forwardTo('250-8BITMIME\r\n250-SMTPUTF8\r\n')
  await forwarded
  expect(seen.commands).toContain('MAIL FROM:<a@b.test> BODY=8BITMIME SMTPUTF8')
  expect(seen.messages).toHaveLength(1)
})

test('a server that offers neither does not get it, and the sender keeps it', async () => {
  const { forwarded, seen } = await forwardTo('')
  await expect(forwarded).rejects.toMatchObject({ responseCode: 554 })
  expect(seen.messages).toEqual([])
})
