// Relay mode: all mail goes to one server, over a pool of connections.
import type { ConnectionOptions } from 'node:tls'
import type { MailTransport } from '../transport.ts'
import type { SessionOptions } from './handshake.ts'
import { createPool } from './pool.ts'
import { createSession } from './session.ts'
import { defaultTimeouts, type SmtpTimeouts, toPhaseMs } from './timeouts.ts'

export type RelayTimeouts = SmtpTimeouts

export interface RelayOptions {
  /**
   * `smtp://` or `smtps://`, `user:password@`, host, port (587, 465). TLS is required unless the host is loopback;
   * `?tls=off` and `?tls=required` change that.
   */
  url: string
  /** The most connections. */
  connections: number
  ehloName: string
  timeouts?: Partial<RelayTimeouts>
  /** TLS options, for example a private certificate authority. */
  tls?: ConnectionOptions
}

/** @throws Error if the URL is malformed, or if it would send a password without encryption */
export function createRelayTransport(options: RelayOptions): MailTransport {
  const timeouts = { ...defaultTimeouts, ...options.timeouts }
  const sessionOptions = toSessionOptions(options, timeouts)
  const pool = createPool({ limit: () => options.connections, idleMs: timeouts.idleMs })

  return {
    send: (...message) =>
      pool.send(
        async (recorder) => {
          const session = createSession(sessionOptions)
          return (await session.open(recorder)) ?? session
        },
        ...message,
      ),
    close: pool.close,
  }
}

function toSessionOptions(options: RelayOptions, timeouts: RelayTimeouts): SessionOptions {
  // The error of the URL parser would hold the URL with its password.
  if (!URL.canParse(options.url)) throw new Error('the URL of the relay is malformed')
  const url = new URL(options.url)
  if (!/^smtps?:$/.test(url.protocol) || url.hostname === '') {
    throw new Error('the relay must be smtp://host or smtps://host')
  }
  const implicit = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  const asked = url.searchParams.get('tls')
  const required = asked === 'required' || (asked !== 'off' && !loopback)
  const auth =
    url.username === ''
      ? null
      : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  if (auth && !implicit && !required && !loopback) {
    throw new Error('the relay has a password and tls=off')
  }
  return {
    host,
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    tls: implicit ? 'implicit' : required ? 'starttls' : 'none',
    tlsOptions: options.tls ?? {},
    auth,
    ehloName: options.ehloName,
    phaseMs: toPhaseMs(timeouts),
  }
}
