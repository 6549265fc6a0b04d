// What the listener for reports offers and does not offer: extensions, commands, certificates.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { connect as tlsConnect } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
import { anotherCertificate, certificateFiles } from './certificate.ts'
import { connectInbound, overSocket, toWire } from './client.ts'
import { statusReport } from './reports.ts'
import { listenForReports, ours } from './server.ts'

const inbound = listenForReports()

describe('what it offers', () => {
  test('its name, SIZE, no STARTTLS without a certificate, no AUTH', async () => {
    const client = await connectInbound(inbound.port)
    onTestFinished(() => client.close())
    expect(client.banner).toMatch(/^220 mx\.mail\.test ESMTP/)
    const features = (await client.say('EHLO a.test')).split('\n').map((line) => line.slice(4))
    expect(features[0]).toBe('mx.mail.test')
    expect(features).toContain(`SIZE ${MESSAGE_BYTES_MAX}`)
    expect(features.join()).not.toMatch(/STARTTLS|AUTH/)
    for (const command of ['STARTTLS', 'AUTH PLAIN AGEAYg==', 'WIZ', 'XCLIENT ADDR=192.0.2.1']) {
      expect([command, await client.say(command)]).toEqual([command, expect.stringMatching(/^50/)])
    }
  })

  test('VRFY gives the same answer for existing and unknown addresses', async () => {
    const client = await connectInbound(inbound.port)
    onTestFinished(() => client.close())
    await client.say('EHLO a.test')
    const replies = [await client.say(`VRFY ${ours(41)}`), await client.say('VRFY nobody')]
    expect(replies[0]).toMatch(/^252 /)
    expect(replies[1]).toBe(replies[0])
    expect(await client.say(`EXPN ${ours(41)}`)).toMatch(/^50/)
  })

  test('commands out of order are 503, a bad address 501', async () => {
    const client = await connectInbound(inbound.port)
    onTestFinished(() => client.close())
    expect(await client.say('MAIL FROM:<>')).toMatch(/^503 /)
    await client.say('EHLO a.test')
    expect(await client.say(`RCPT TO:<${ours(1)}>`)).toMatch(/^503 /)
    expect(await client.say('MAIL FROM:<a b>')).toMatch(/^501 /)
    await client.say('MAIL FROM:<>')
    expect(await client.say('DATA')).toMatch(/^503 /)
  })

  test('STARTTLS with a configured certificate', async () => {
    const { files, certificate } = certificateFiles()
    const secure = await inbound.listen({ tlsCert: files.cert, tlsKey: files.key })
    onTestFinished(secure.stop)
    const plain = await connectInbound(secure.port)
    expect(await plain.say('EHLO a.test')).toContain('STARTTLS')
    expect(await plain.say('STARTTLS')).toMatch(/^220 /)
    plain.socket.removeAllListeners('data')
    const socket = tlsConnect({ socket: plain.socket, ca: certificate, servername: 'localhost' })
    await once(socket, 'secureConnect')
    const client = overSocket(socket)
    onTestFinished(() => client.close())
    expect(await client.say('EHLO a.test')).not.toContain('STARTTLS')
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${ours(41)}>`, 'DATA']) await client.say(line)
    expect(await client.say(toWire(statusReport()))).toMatch(/^250 /)
    expect(inbound.heard).toHaveLength(1)
  })

  test('a certificate that is renewed is offered without a restart; until it is whole, the old one', async () => {
    const { files, certificate } = certificateFiles()
    const secure = await inbound.listen({ tlsCert: files.cert, tlsKey: files.key })
    onTestFinished(secure.stop)
    const offered = async () => {
      const plain = await connectInbound(secure.port)
      await plain.say('EHLO a.test')
      await plain.say('STARTTLS')
      plain.socket.removeAllListeners('data')
      const socket = tlsConnect({ socket: plain.socket, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      onTestFinished(() => void socket.destroy())
      return socket.getPeerX509Certificate()?.fingerprint256
    }
    const [first, second] = [certificate, anotherCertificate.cert].map(
      (pem) => new X509Certificate(pem).fingerprint256,
    )
    expect(await offered()).toBe(first)
    writeFileSync(files.cert, anotherCertificate.cert)
    expect(await offered(), 'the key is still the old one').toBe(first)
    rmSync(files.key)
    expect(await offered(), 'there is no key for a moment').toBe(first)
    writeFileSync(files.key, anotherCertificate.key)
    expect(await offered()).toBe(second)
  })

  test('a certificate without its key, or a missing file, fails at start', async () => {
    const { files } = certificateFiles()
    await expect(inbound.listen({ tlsCert: files.cert, tlsKey: null })).rejects.toThrow(
      'INBOUND_TLS_KEY',
    )
    await expect(inbound.listen({ tlsCert: '/nowhere.pem', tlsKey: files.key })).rejects.toThrow(
      'ENOENT',
    )
  })

  test('a port that is taken fails at start', async () => {
    await expect(inbound.listen({ port: inbound.port })).rejects.toThrow('EADDRINUSE')
  })
})
