// A relay transport in front of a scripted server, both closed after the test.
import { afterEach } from 'vitest'
import { createRelayTransport, type RelayTimeouts } from '../../../mail/smtp/relay.ts'
import type { MailTransport } from '../../../mail/transport.ts'
import { type Script, type Step, startFaultServer } from './faultServer.ts'

export const message = Buffer.from('From: a@a.test\r\nTo: b@b.test\r\n\r\nHello\r\n')
export const envelope = { from: 'b+1.00@bounces.a.test', to: 'b@b.test', bytes: message.length }
export const short: Partial<RelayTimeouts> = {
  connectMs: 500,
  bannerMs: 250,
  commandMs: 250,
  dataMs: 250,
  bodyMs: 250,
  dotMs: 250,
}

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/** Closes it after the test, the last one first. */
export function closeAfterTest(...ones: { close(): Promise<void> }[]): void {
  opened.push(...ones)
}

export async function relayTo(script: Script, timeouts: Partial<RelayTimeouts> = {}, query = '') {
  const server = await startFaultServer(script)
  const url = `smtp://127.0.0.1:${server.port}${query}`
  const transport = createRelayTransport({ url, connections: 1, ehloName: 'us.test', timeouts })
  opened.push(server, transport)
  return { server, transport }
}

/** Sends one message and counts the calls of beforeDot. */
export async function sendOne(
  transport: MailTransport,
  lease: () => Promise<boolean> = async () => true,
) {
  let asked = 0
  const outcome = await transport.send(envelope, message, () => {
    asked += 1
    return lease()
  })
  return { outcome, asked }
}

/** Replaces the reply of one step. */
export const at =
  (step: Step, reply: string): Script =>
  (now) =>
    now === step ? reply : undefined
