// Opens an SMTP session: banner, EHLO, STARTTLS, AUTH, each with its phase and timeout.
import type { ConnectionOptions } from 'node:tls'
import type { Phase } from '../../rules/mail/phases.ts'
import type { Recorder } from './recorder.ts'
import type { SmtpReply } from './replies.ts'
import { openWire, type Wire } from './wire.ts'

interface SmtpAuth {
  user: string
  /** The password, or the access token of XOAUTH2. */
  pass: string
  method?: 'password' | 'xoauth2'
}

export interface SessionOptions {
  host: string
  /** The server's name in traces, if `host` is an IP address. */
  name?: string
  port: number
  /** `starttls`: required; `opportunistic`: if the server offers it. */
  tls: 'implicit' | 'starttls' | 'opportunistic' | 'none'
  tlsOptions: ConnectionOptions
  auth: SmtpAuth | null
  ehloName: string
  /** Timeout of each phase; that of `body` starts again with each progress. */
  phaseMs: Record<Phase, number>
  localAddress?: string
}

/** The answer to EHLO: keyword → parameters, in upper case. */
export type Capabilities = Map<string, string>

/** The server refused the session with this reply. */
export class Refused extends Error {
  readonly phase: Phase
  readonly reply: SmtpReply

  constructor(phase: Phase, reply: SmtpReply) {
    super(reply.text)
    this.phase = phase
    this.reply = reply
  }
}

/** The server does not offer the required TLS or login. */
class HandshakeError extends Error {
  override name = 'HandshakeError'
}

/**
 * Connects, and does everything that comes before the first message.
 * @param enter called at the beginning of each phase
 * @throws Refused, HandshakeError, WireError
 */
export async function openSession(
  options: SessionOptions,
  enter: (phase: Phase) => void,
  recorder: Recorder | null,
): Promise<{ wire: Wire; capabilities: Capabilities }> {
  const { host, port, phaseMs, tlsOptions, localAddress } = options
  enter('connect')
  const implicit = options.tls === 'implicit'
  const target = {
    host,
    name: options.name ?? host,
    port,
    tls: implicit ? tlsOptions : null,
    ...(localAddress ? { localAddress } : {}),
  }
  const wire = await openWire(target, phaseMs.connect, recorder)
  try {
    enter('banner')
    const banner = await wire.reply('banner', phaseMs.banner)
    if (banner.code !== 220) throw new Refused('banner', banner)
    let capabilities = await greet(wire, options, enter)
    const offered = capabilities.has('STARTTLS')
    if (options.tls === 'starttls' && !offered) {
      enter('tls')
      throw new HandshakeError('the server offers no STARTTLS, which is required')
    }
    if (offered && (options.tls === 'starttls' || options.tls === 'opportunistic')) {
      enter('tls')
      const reply = await ask(wire, 'tls', 'STARTTLS', phaseMs.tls)
      if (reply.code === 220) {
        await wire.startTls(tlsOptions, phaseMs.tls)
        capabilities = await greet(wire, options, enter)
      } else if (options.tls === 'starttls') throw new Refused('tls', reply)
    }
    if (options.auth) await authenticate(wire, capabilities, options.auth, options)
    return { wire, capabilities }
  } catch (err) {
    wire.close()
    throw err
  }
}

async function ask(
  wire: Wire,
  what: Phase,
  line: string,
  timeout_ms: number,
  shown = line,
): Promise<SmtpReply> {
  wire.writeLines(line, shown)
  return wire.reply(what, timeout_ms)
}

async function greet(
  wire: Wire,
  { ehloName, phaseMs }: SessionOptions,
  enter: (phase: Phase) => void,
): Promise<Capabilities> {
  enter('ehlo')
  const reply = await ask(wire, 'ehlo', `EHLO ${ehloName}`, phaseMs.ehlo)
  if (reply.code === 250) {
    return new Map(
      reply.lines.slice(1).map((line) => {
        const [keyword = '', ...parameters] = line.trim().toUpperCase().split(/[ =]+/)
        return [keyword, parameters.join(' ')]
      }),
    )
  }
  if (reply.code < 500) throw new Refused('ehlo', reply)
  // Very old servers know only HELO (RFC 5321 section 3.2). One that goes without an answer has said why before.
  const old = await ask(wire, 'ehlo', `HELO ${ehloName}`, phaseMs.ehlo).catch(() => reply)
  if (old.code !== 250) throw new Refused('ehlo', old)
  return new Map()
}

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')

async function authenticate(
  wire: Wire,
  capabilities: Capabilities,
  auth: SmtpAuth,
  { phaseMs }: SessionOptions,
): Promise<void> {
  const methods = (capabilities.get('AUTH') ?? '').split(' ')
  const send = (line: string) => ask(wire, 'ehlo', line, phaseMs.ehlo)
  const sendSecret = (command: string, secret: string) =>
    ask(wire, 'ehlo', command + base64(secret), phaseMs.ehlo, `${command}***`)
  let reply: SmtpReply
  if (auth.method === 'xoauth2') {
    if (!methods.includes('XOAUTH2')) throw new HandshakeError('the server offers no AUTH XOAUTH2')
    const token = `user=${auth.user}\x01auth=Bearer ${auth.pass}\x01\x01`
    reply = await sendSecret('AUTH XOAUTH2 ', token)
    // The server sends the reason as a challenge, which needs an empty answer before the refusal follows.
    if (reply.code === 334) reply = await send('')
  } else if (methods.includes('PLAIN')) {
    reply = await sendSecret('AUTH PLAIN ', `\0${auth.user}\0${auth.pass}`)
  } else if (methods.includes('LOGIN')) {
    reply = await send('AUTH LOGIN')
    if (reply.code === 334) reply = await sendSecret('', auth.user)
    if (reply.code === 334) reply = await sendSecret('', auth.pass)
  } else {
    throw new HandshakeError('the server offers neither AUTH PLAIN nor AUTH LOGIN')
  }
  if (reply.code !== 235) throw new Refused('ehlo', reply)
}
