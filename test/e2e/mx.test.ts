// Direct delivery by a real worker to the servers that a real name server names.
import { expect, onTestFinished, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { mxEnv } from '../setup/mxEnv.ts'
import { startNameServer } from '../setup/nameServer.ts'
import { startFaultServer } from '../unit/mail/faultServer.ts'

const database = await createTestDatabase()

test('mail goes to its domain, to the second host if need be; a null MX bounces; NXDOMAIN waits', async () => {
  const nameServer = await startNameServer({
    'acme.test': `
      @ MX 10 first
      @ MX 20 second
      first A 127.0.0.2
      second A 127.0.0.3
      null MX 0 .`,
    'sender.test': 'bounces MX 10 mx',
  })
  onTestFinished(nameServer.close)
  const port = await randomPort()
  const server = await startFaultServer(undefined, port, '127.0.0.3')
  onTestFinished(server.close)
  const h = await createHarness(database, {
    env: mxEnv(nameServer, port),
  })
  await h.request('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to: ['fine@acme.test', 'nobody@null.acme.test', 'someone@nowhere.acme.test'],
    subject: 'Hello',
    html: '<p>Hello</p>',
  })
  const rows = await eventually(async () => {
    const found = await h.db
      .selectFrom('deliveries')
      .select(['recipient', 'state', 'last_response', 'next_at'])
      .orderBy('recipient')
      .execute()
    const states = found.map(({ state }) => state)
    expect(states).toEqual(['delivered', 'bounced', 'deferred'])
    return found
  })
  expect(server.seen.commands).toContain('EHLO mail.test')
  expect(server.seen.commands).toContain('RCPT TO:<fine@acme.test>')
  expect(server.seen.messages).toHaveLength(1)
  expect(rows[1]?.last_response).toMatch(/^556 5\.1\.10 /)
  expect(rows[2]?.last_response).toMatch(/^512 5\.1\.2 /)
  const wait_ms = (rows[2]?.next_at.getTime() ?? 0) - Date.now()
  expect(wait_ms).toBeGreaterThan(25 * 60_000)
  expect(wait_ms).toBeLessThanOrEqual(30 * 60_000)
})
