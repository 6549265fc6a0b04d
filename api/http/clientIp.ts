// Who a request comes from: the peer, or behind proxies of the operator's own what they say.

import { isIP } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { blockList, isListed } from '../../rules/mail/machines.ts'
import type { ApiEnv } from './env.ts'

/** Entries of X-Forwarded-For that are looked at, from the right. */
const HOPS_MAX = 20

/**
 * Reads the client's address: the right-most entry of X-Forwarded-For that is no trusted proxy, when the peer is one;
 * else the peer. An entry that is no address ends the walk, since whoever wrote it is not to be believed.
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

/** The address of the socket that a request came by; undefined where there is none. */
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
