// The header of mail that is forwarded: how often it was, and the line that says so (RFC 5321 section 4.4).
import { isIPv6 } from 'node:net'

/** RFC 5321 section 6.3. */
const HOPS_MAX = 100
const HEADER_BYTES_MAX = 128 * 1024

export interface Forwarding {
  /** Our name. */
  name: string
  /** What the client called itself, and its address. */
  helo: string
  address: string
  at: Date
}

/** True for mail that was forwarded here before, or has come too far: it goes in a circle. */
export function isLooping(message: Buffer, name: string): boolean {
  const text = message.toString('latin1', 0, HEADER_BYTES_MAX)
  const header = text.slice(0, /\r?\n\r?\n/.exec(text)?.index ?? text.length)
  const received = header.replace(/\r?\n[ \t]+/g, ' ').match(/^received:.*$/gim) ?? []
  return received.length >= HOPS_MAX || received.some((line) => line.includes(markOf(name)))
}

/** The message with our Received line in front, which `isLooping` recognises. */
export function withReceived(message: Buffer, { name, helo, address, at }: Forwarding): Buffer {
  const client = /^[\w.:[\]-]{1,255}$/.test(helo) ? helo : 'unknown'
  const literal = isIPv6(address) ? `[IPv6:${address}]` : `[${address}]`
  const line = `Received: from ${client} (${literal})\r\n\t${markOf(name)} with ESMTP;\r\n\t${dateOf(at)}\r\n`
  return Buffer.concat([Buffer.from(line, 'latin1'), message])
}

const markOf = (name: string) => `by ${name} (for the postmaster)`

const dateOf = (at: Date) => at.toUTCString().replace('GMT', '+0000')
