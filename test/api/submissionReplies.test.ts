// Commands that a mail program sends in a group (RFC 2920) are answered in one: in clear, over TLS, and before STARTTLS.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { idOf, messageOf, plainToken, startTestSubmission } from '../setup/submission.ts'
import { certificateFiles } from '../unit/inbound/certificate.ts'
import { connectInbound, type InboundClient, overSocket, toWire } from '../unit/inbound/client.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')

async function listen() {
  const { files, certificate } = certificateFiles()
  const tls = { tlsCert: files.cert, tlsKey: files.key, tlsPort: 0 }
  return { ...(await startTestSubmission(api, tls, onTestFinished)), certificate }
}
type Server = Awaited<ReturnType<typeof listen>>

const GROUP = 'MAIL FROM:<bounces@app.test>\r\nRCPT TO:<ada@example.test>\r\nDATA\r\n'

async function secured(
  { certificate: ca }: Server,
  given: { socket: Socket } | { host: string; port: number },
) {
  const socket = tlsConnect({ ...given, ca, servername: 'localhost' })
  await once(socket, 'secureConnect')
  return overSocket(socket)
}

async function afterStarttls(server: Server) {
  const plain = await connectInbound(server.port)
  await plain.say('EHLO app.test')
  await plain.say('STARTTLS')
  plain.socket.removeAllListeners('data')
  return secured(server, { socket: plain.socket })
}

const ways: Record<string, (server: Server) => Promise<InboundClient>> = {
  'in clear': ({ port }) => connectInbound(port),
  'after STARTTLS': afterStarttls,
  'with TLS from the first byte': async (server) => {
    const client = await secured(server, { host: '127.0.0.1', port: server.tlsPort ?? 0 })
    await client.hear()
    return client
  },
}

async function loggedIn(client: InboundClient) {
  onTestFinished(() => client.close())
  await client.say('EHLO app.test')
  expect(await client.say(`AUTH PLAIN ${plainToken(api.key)}`)).toMatch(/^235/)
  return client
}

test.each(Object.entries(ways))('replies to a group come together: %s', async (_, connect) => {
  const client = await loggedIn(await connect(await listen()))
  for (const turn of [1, 2, 3]) {
    const parts: string[] = []
    const note = (part: Buffer) => void parts.push(part.toString('latin1'))
    client.socket.on('data', note)
    client.socket.write(GROUP)
    for (const code of ['250', '250', '354']) expect(await client.hear()).toMatch(code)
    client.socket.off('data', note)
    expect([turn, parts.map((part) => part.match(/^\d{3}/gm))]).toEqual([
      turn,
      [['250', '250', '354']],
    ])
    idOf(await client.say(toWire(messageOf())))
  }
})

test.each(Object.entries(ways))(
  'who says QUIT behind a message and ends their side hears both replies: %s',
  async (_, connect) => {
    const client = await loggedIn(await connect(await listen()))
    client.socket.write(GROUP)
    for (const code of ['250', '250', '354']) expect(await client.hear()).toMatch(code)
    client.socket.end(Buffer.concat([toWire(messageOf()), Buffer.from('quit\r\n')]))
    idOf(await client.hear())
    expect(await client.hear()).toMatch(/^221 /)
    expect(await client.hear()).toBe('')
  },
)

test('STARTTLS in the middle of a mail is answered in clear, and the mail begins anew', async () => {
  const server = await listen()
  const plain = await loggedIn(await connectInbound(server.port))
  plain.socket.write('MAIL FROM:<bounces@app.test>\r\nSTARTTLS\r\n')
  expect(await plain.hear()).toMatch(/^250 /)
  expect(await plain.hear()).toMatch(/^220 /)
  plain.socket.removeAllListeners('data')
  const client = await loggedIn(await secured(server, { socket: plain.socket }))
  expect(await client.say('RCPT TO:<ada@example.test>')).toMatch(/^503 /)
  client.socket.write(GROUP)
  for (const code of ['250', '250', '354']) expect(await client.hear()).toMatch(code)
  idOf(await client.say(toWire(messageOf())))
})

test('a client that goes while its replies are gathered leaves nothing open', async () => {
  const server = await listen()
  const client = await loggedIn(await connectInbound(server.port))
  client.socket.write(GROUP)
  client.socket.destroy()
  const next = await loggedIn(await connectInbound(server.port))
  next.socket.write(GROUP)
  for (const code of ['250', '250', '354']) expect(await next.hear()).toMatch(code)
  idOf(await next.say(toWire(messageOf())))
})
