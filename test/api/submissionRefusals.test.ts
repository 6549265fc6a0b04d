// What is refused of mail that is submitted by SMTP, with the code of the API, and where a key may be shown at all.
import { once } from 'node:events'
import { connect } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { createTransport } from 'nodemailer'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import {
  idOf,
  logIn,
  messageOf,
  plainToken,
  sendOn,
  startTestSubmission,
  submit,
} from '../setup/submission.ts'
import { certificateFiles } from '../unit/inbound/certificate.ts'
import { connectInbound, overSocket, toWire } from '../unit/inbound/client.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
await insertTestDomain(api, 'pending.test', 'PENDING')
const server = await startTestSubmission(api)
const send = (message: string, to?: string | string[]) => submit(server.port, api.key, message, to)
const emails = () => api.db.selectFrom('emails').select('id').execute()

describe('what is refused, and nothing is written', () => {
  const options = (value: unknown) => ({
    'X-Dripline-Options': typeof value === 'string' ? value : JSON.stringify(value),
  })
  const table: [name: string, message: string, reply: RegExp][] = [
    ['no From', messageOf({ From: '' }), /^550 5\.6\.0 from field is required$/],
    ['no Subject', messageOf({ Subject: '' }), /^550 5\.6\.0 subject field is required$/],
    [
      'two senders',
      messageOf({ From: 'a@sender.test, b@x.test' }),
      /^550 .*Invalid email format in from field$/,
    ],
    [
      'two From',
      `From: x@sender.test\r\n${messageOf()}`,
      /^550 .*invalid_header: from is given 2 times$/,
    ],
    ['an unknown domain', messageOf({ From: 'a@other.test' }), /^550 5\.7\.1 domain_not_found: /],
    [
      'an unverified domain',
      messageOf({ From: 'a@pending.test' }),
      /^550 5\.7\.1 domain_not_verified: /,
    ],
    ['nothing to send', messageOf({}, ''), /^550 .*content_required: /],
    [
      'a long subject',
      messageOf({ Subject: Array(300).fill('word').join('\r\n ') }),
      /^550 .*invalid_request: subject must not exceed/,
    ],
    ['no header', 'Hello\r\n', /^550 .*invalid_header: /],
    [
      'Latin-1 in the header',
      messageOf({ Subject: 'caf\xe9' }),
      /^550 .*invalid_header: the header must be ASCII or UTF-8$/,
    ],
    ['options that are no JSON', messageOf(options('{')), /^550 .*invalid_json: /],
    [
      'tags of numbers',
      messageOf(options({ tags: { a: 1 } })),
      /^550 .*invalid_request: tags\.a must be a string/,
    ],
    [
      'a metadata of text',
      messageOf(options({ metadata: 'x' })),
      /^550 .*invalid_request: metadata must be an object/,
    ],
    [
      'tracking of text',
      messageOf(options({ tracking: { opens: 'yes' } })),
      /^550 .*invalid_request: tracking\.opens/,
    ],
    [
      'no time',
      messageOf(options({ scheduled_at: 'soon' })),
      /^550 .*invalid_request: scheduled_at must be/,
    ],
    [
      'a bad idempotency key',
      messageOf(options({ idempotency_key: 'a b' })),
      /^550 .*invalid_idempotency_key: /,
    ],
    ['a mail in a circle', `${'Received: x\r\n'.repeat(101)}${messageOf()}`, /^554 5\.4\.6 /],
  ]
  test.each(table)('%s', async (_name, message, reply) => {
    const before = await emails()
    expect(await send(message)).toMatch(reply)
    expect(await emails()).toEqual(before)
  })

  test('a recipient that is no address of ours, and more of them than one mail may have', async () => {
    const client = await logIn(server.port, api.key)
    onTestFinished(() => client.close())
    await client.say('MAIL FROM:<a@b.test>')
    expect(await client.say('RCPT TO:<grüße@example.test>')).toMatch(
      /^553 5\.1\.3 invalid_address: /,
    )
    // The domain alone is no fault here: it is carried in ASCII.
    expect(await client.say('RCPT TO:<ada@münchen.example>')).toMatch(/^250/)
    for (let i = 0; i < 49; i++) {
      expect(await client.say(`RCPT TO:<r${i}@example.test>`)).toMatch(/^250/)
    }
    expect(await client.say('RCPT TO:<r50@example.test>')).toMatch(
      /^452 4\.5\.3 Too many recipients/,
    )
  })

  test('keys: wrong, of too little power, revoked while the session is open, of another domain', async () => {
    await expect(logIn(server.port, 'drip_wrong')).rejects.toThrow(/^535 5\.7\.8 invalid_api_key: /)
    const weak = await api.createKey({ permission: 'events_only' })
    await expect(logIn(server.port, weak.token)).rejects.toThrow(
      /^535 5\.7\.8 restricted_api_key: .* sending_access/,
    )
    const bound = await api.createKey({ permission: 'sending_access' })
    const other = await insertTestDomain(api, 'second.test')
    await api.db
      .updateTable('api_keys')
      .set({ domain_id: other })
      .where('id', '=', bound.keyId)
      .execute()
    expect(await submit(server.port, bound.token, messageOf())).toMatch(
      /^550 5\.7\.1 domain_not_found: /,
    )
    const own = messageOf({ From: 'a@second.test' })
    const client = await logIn(server.port, bound.token)
    onTestFinished(() => client.close())
    expect(await sendOn(client, own)).toMatch(/^250/)
    await api.request('DELETE', `/v1/api-keys/${bound.keyId}`)
    await expect
      .poll(
        () =>
          client.say('MAIL FROM:<a@b.test>').then(async (reply) => {
            await client.say('RSET')
            return reply
          }),
        { timeout: 60_000 },
      )
      .toMatch(/^530 5\.7\.0 invalid_api_key: /)
  })

  test('a message whose key is revoked while it comes', async () => {
    const { token, keyId } = await api.createKey()
    const client = await logIn(server.port, token)
    onTestFinished(() => client.close())
    for (const line of ['MAIL FROM:<a@b.test>', 'RCPT TO:<ada@example.test>', 'DATA'])
      expect(await client.say(line)).toMatch(/^[23]/)
    const wire = toWire(messageOf())
    client.socket.write(wire.subarray(0, 40))
    await api.request('DELETE', `/v1/api-keys/${keyId}`)
    // The listener hears of it a moment later.
    await expect
      .poll(() => logIn(server.port, token).then((other) => other.close(), String), {
        timeout: 60_000,
      })
      .toMatch(/535 5\.7\.8 invalid_api_key: /)
    const before = await emails()
    expect(await client.say(wire.subarray(40))).toMatch(/^530 5\.7\.0 invalid_api_key: /)
    expect(await emails()).toEqual(before)
  })
})

describe('where passwords may be shown', () => {
  test('a client from elsewhere has AUTH after TLS alone, STARTTLS or from the first byte', async () => {
    const { files, certificate } = certificateFiles()
    const tls = { tlsCert: files.cert, tlsKey: files.key, tlsPort: 0 }
    const secure = await startTestSubmission(api, { host: '0.0.0.0', ...tls }, onTestFinished)
    const elsewhere = addressesOf(networkInterfaces())
    for (const address of elsewhere) {
      const plain = await connectFrom(address, secure.port)
      expect(await plain.say('EHLO app.test')).not.toContain('AUTH')
      expect(await plain.say(`AUTH PLAIN ${plainToken(api.key)}`)).toMatch(/^5/)
      expect(await plain.say('MAIL FROM:<a@b.test>')).toMatch(/^530 5\.7\.0 /)
      const offered = await startTestSubmission(api, { host: '0.0.0.0' }, onTestFinished)
      const bare = await connectFrom(address, offered.port)
      expect(await bare.say('EHLO app.test')).not.toMatch(/AUTH|STARTTLS/)
    }
    const client = createTransport({
      host: '127.0.0.1',
      port: secure.port,
      requireTLS: true,
      auth: { user: 'x', pass: api.key },
      tls: { ca: certificate, servername: 'localhost' },
    })
    onTestFinished(() => client.close())
    const sent = await client.sendMail({
      envelope: { from: 'a@b.test', to: 'ada@example.test' },
      raw: messageOf(),
    })
    expect(idOf(sent.response)).toMatch(/^em_/)
    const direct = createTransport({
      host: '127.0.0.1',
      port: secure.tlsPort ?? 0,
      secure: true,
      auth: { user: 'x', pass: api.key },
      tls: { ca: certificate, servername: 'localhost' },
    })
    onTestFinished(() => direct.close())
    const again = await direct.sendMail({
      envelope: { from: 'a@b.test', to: 'ada@example.test' },
      raw: messageOf(),
    })
    expect(idOf(again.response)).toMatch(/^em_/)
  })

  test('without a key there is no mail', async () => {
    const client = await connectInbound(server.port)
    onTestFinished(() => client.close())
    await client.say('EHLO app.test')
    expect(await client.say('MAIL FROM:<a@b.test>')).toMatch(/^530 5\.7\.0 /)
    expect(await client.say(`AUTH PLAIN ${plainToken('')}`)).toMatch(/^535 /)
  })
})

/** An address of this machine that is not loopback, where it has one. */
function addressesOf(interfaces: ReturnType<typeof networkInterfaces>): string[] {
  const all: NetworkInterfaceInfo[] = Object.values(interfaces).flatMap((list) => list ?? [])
  return all
    .flatMap(({ internal, family, address }) => (internal || family !== 'IPv4' ? [] : [address]))
    .slice(0, 1)
}

async function connectFrom(address: string, port: number) {
  const socket = connect({ port, host: address, localAddress: address })
  await once(socket, 'connect')
  const client = overSocket(socket)
  onTestFinished(() => client.close())
  await client.hear()
  return client
}
