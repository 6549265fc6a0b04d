// The client address of a request: that of the peer, or the one that trusted proxies report.

import { isIP } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { blockList, isListed } from '../../rules/mail/machines.ts'
import type { ApiEnv } from './env.ts'

/** Entries of X-Forwarded-For that are read, from the right. */
const HOPS_MAX = 20

/**
 * Makes a function that reads the client's address. If the peer is a trusted proxy, it is the right-most entry of
 * X-Forwarded-For that is not a trusted proxy; otherwise the peer. Reading stops at an entry that is not an
 * address, because the entries before it cannot be trusted.
 * @param trustedProxies `ip` or `ip/bits`
 */
export function createClientIp(trustedProxies: readonly string[]) {
  const trusted = blockList(trustedProxies)
  return (peer: string | undefined, forwardedFor: string | undefined): string | null => {
    let ip = plainAddress(peer ?? '')
    if (ip === null || forwardedFor === undefined || !isListed(trusted, ip)) return ip
    const hops = forwardedFor.split(',').reverse().slice(0, HOPS_MAX)
    for (const hop of hops) {
      const address = plainAddress(hop)
      if (address === null) return ip
      ip = address
      if (!isListed(trusted, address)) return ip
    }
    return ip
  }
}

/** The address of a request's socket; undefined if there is none. */
export function peerOf(c: Context<ApiEnv>): string | undefined {
  const bindings = c.env as Partial<HttpBindings> | undefined
  return bindings?.incoming?.socket.remoteAddress
}

/** An address without brackets, port and zone, IPv4 as IPv4; null for everything else. */
function plainAddress(text: string): string | null {
  const trimmed = text.trim()
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1]
  const withPort = /^(\d[\d.]+):\d{1,5}$/.exec(trimmed)?.[1]
  const bare = (bracketed ?? withPort ?? trimmed).replace(/%.*$/, '')
  const mapped = /^::ffff:(\d[\d.]+)$/i.exec(bare)?.[1]
  const address = mapped ?? bare
  return isIP(address) > 0 ? address : null
}
