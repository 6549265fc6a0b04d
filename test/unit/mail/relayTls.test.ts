// The relay's TLS and login.
import type { SMTPServerOptions } from 'smtp-server'
import { describe, expect, test } from 'vitest'
import { createRelayTransport } from '../../../mail/smtp/relay.ts'
import { relay, sendTo, startServer } from './smtpServer.ts'

describe('TLS and login', () => {
  const trusting = { rejectUnauthorized: false }
  const users: SMTPServerOptions = {
    onAuth(auth, _session, callback) {
      if (auth.username === 'us er' && auth.password === 'p@ss') callback(null, { user: 'us er' })
      else callback(new Error('no'))
    },
  }

  test('STARTTLS when required, and the password from the URL', async () => {
    const server = await startServer(users)
    const url = `smtp://us%20er:p%40ss@127.0.0.1:${server.port}?tls=required`
    const transport = relay(server.port, { url, tls: trusting })
    expect((await sendTo(transport, 'b@b.test')).kind).toBe('delivered')
    expect(server.received[0]).toMatchObject({ user: 'us er', secure: true })
  })

  test('smtps', async () => {
    const server = await startServer({ ...users, secure: true })
    const url = `smtps://us%20er:p%40ss@127.0.0.1:${server.port}`
    const transport = relay(server.port, { url, tls: trusting })
    expect((await sendTo(transport, 'b@b.test')).kind).toBe('delivered')
    expect(server.received[0]).toMatchObject({ user: 'us er', secure: true })
  })

  test.each(['smtps://', 'smtp://'])(
    'a certificate that nobody vouches for: %s',
    async (scheme) => {
      const server = await startServer({ secure: scheme === 'smtps://' })
      const url = `${scheme}127.0.0.1:${server.port}?tls=required`
      const outcome = await sendTo(relay(server.port, { url }), 'b@b.test')
      expect(outcome).toMatchObject({ kind: 'failed', phase: 'tls' })
    },
  )

  test('a wrong password is the session’s fault, not the recipient’s', async () => {
    const server = await startServer(users)
    const url = `smtp://us%20er:wrong@127.0.0.1:${server.port}?tls=required`
    const outcome = await sendTo(relay(server.port, { url, tls: trusting }), 'b@b.test')
    expect(outcome).toMatchObject({ kind: 'rejected', phase: 'ehlo', code: 535 })
  })

  test('a password without encryption is refused as configuration', () => {
    const create = (url: string) => createRelayTransport({ url, connections: 1, ehloName: 'us' })
    expect(() => create('smtp://u:p@mail.test?tls=off')).toThrow('password')
    expect(() => create('http://mail.test')).toThrow('smtp://')
    expect(() => create('smtp://mail.test?tls=off')).not.toThrow()
  })
})
