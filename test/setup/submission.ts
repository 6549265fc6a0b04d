// A listener for submitted mail over the database of a test API, and clients that speak to it line by line.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll } from 'vitest'
import type { GuardTimes } from '../../inbound/submission/guard.ts'
import { listenForSubmissions } from '../../worker/submission.ts'
import { connectInbound, type InboundClient, toWire } from '../unit/inbound/client.ts'
import type { TestApi } from './api.ts'

export { messageOf } from './messages.ts'

interface Listening {
  host?: string
  tlsPort?: number | null
  tlsCert?: string | null
  tlsKey?: string | null
  times?: GuardTimes
  /** How long a stop waits for mail that is being committed; else as long as that of a worker. */
  drain_ms?: number
}

/** Starts a listener on a free port of 127.0.0.1. @param atEnd when it ends: with the file, or with the test (`onTestFinished`) */
export async function startTestSubmission(
  api: TestApi,
  { times, drain_ms, ...listen }: Listening = {},
  atEnd: (stop: () => Promise<void>) => void = afterAll,
) {
  const stateFolder = mkdtempSync(join(tmpdir(), 'dripline-submission-'))
  const registry = new Registry()
  const { config: known } = api.deps
  const drainMs = drain_ms ?? known.drainMs
  const config = { ...known, databaseUrl: api.url, stateFolder, drainMs }
  const server = await listenForSubmissions(
    { ...api.deps, config, registry, ...(times ? { times } : {}) },
    { host: '127.0.0.1', port: 0, tlsPort: null, tlsCert: null, tlsKey: null, ...listen },
  )
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= server.stop()
    return stopped
  }
  atEnd(async () => {
    await stop()
    rmSync(stateFolder, { recursive: true, force: true })
  })
  return { ...server, stop, registry, stateFolder }
}

export const plainToken = (key: string, user = 'any'): string =>
  Buffer.from(`\0${user}\0${key}`).toString('base64')

/** Connects, says EHLO and logs in. @throws Error with the reply to a key that is refused */
export async function logIn(port: number, key: string): Promise<InboundClient> {
  const client = await connectInbound(port)
  if (!client.banner.startsWith('220')) throw new Error(client.banner)
  await client.say('EHLO app.test')
  const reply = await client.say(`AUTH PLAIN ${plainToken(key)}`)
  if (!reply.startsWith('235')) throw new Error(reply)
  return client
}

/** Sends one message on a connection. @returns the reply to it, or to the recipient or the sender that was refused */
export async function sendOn(
  client: InboundClient,
  message: string | Buffer,
  to: string | string[] = 'ada@example.test',
): Promise<string> {
  const begun = await client.say('MAIL FROM:<bounces@app.test>')
  if (!begun.startsWith('250')) return begun
  for (const address of [to].flat()) {
    const reply = await client.say(`RCPT TO:<${address}>`)
    if (!reply.startsWith('250')) return reply
  }
  const ready = await client.say('DATA')
  return ready.startsWith('354') ? client.say(toWire(message)) : ready
}

/** Sends one message over a connection of its own. @returns as `sendOn` */
export async function submit(
  port: number,
  key: string,
  message: string | Buffer,
  to?: string | string[],
): Promise<string> {
  const client = await logIn(port, key)
  try {
    return await sendOn(client, message, to)
  } finally {
    client.close()
  }
}

/** The id in the reply to a message that was taken. @throws Error with any other reply */
export function idOf(reply: string): string {
  const id = /^250 2\.0\.0 Taken as (em_\w+)$/.exec(reply)?.[1]
  if (id === undefined) throw new Error(reply)
  return id
}
