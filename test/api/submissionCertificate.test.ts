// The certificate of the listener for submitted mail: both ports offer a renewed one at the next connection.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { startTestSubmission } from '../setup/submission.ts'
import { anotherCertificate, certificateFiles } from '../unit/inbound/certificate.ts'
import { connectInbound } from '../unit/inbound/client.ts'

const api = await createTestApi()
const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256

async function offeredOn(at: { socket: Socket } | { host: string; port: number }) {
  const socket = tlsConnect({ ...at, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  onTestFinished(() => void socket.destroy())
  return socket.getPeerX509Certificate()?.fingerprint256
}

async function offeredAfterStarttls(port: number) {
  const plain = await connectInbound(port)
  await plain.say('EHLO a.test')
  await plain.say('STARTTLS')
  plain.socket.removeAllListeners('data')
  return offeredOn({ socket: plain.socket })
}

test.each(['STARTTLS', 'TLS from the first byte'])(
  'both ports offer it after a connection with %s',
  async (way) => {
    const { files, certificate } = certificateFiles()
    const tls = { tlsCert: files.cert, tlsKey: files.key, tlsPort: 0 }
    const { port, tlsPort } = await startTestSubmission(api, tls, onTestFinished)
    const onBoth = {
      STARTTLS: () => offeredAfterStarttls(port),
      'TLS from the first byte': () => offeredOn({ host: '127.0.0.1', port: tlsPort ?? 0 }),
    }
    for (const offered of Object.values(onBoth))
      expect(await offered()).toBe(fingerprint(certificate))
    writeFileSync(files.cert, anotherCertificate.cert)
    writeFileSync(files.key, anotherCertificate.key)
    const first = way === 'STARTTLS' ? onBoth.STARTTLS : onBoth['TLS from the first byte']
    expect(await first()).toBe(fingerprint(anotherCertificate.cert))
    for (const offered of Object.values(onBoth))
      expect(await offered()).toBe(fingerprint(anotherCertificate.cert))
  },
)
