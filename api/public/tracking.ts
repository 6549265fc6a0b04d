// Pixels and tracked links. Public, without a key: the token is the proof. The target of a link never comes from
// the request.
import type { Context } from 'hono'
import { findTracked } from '../../commands/tracking/find.ts'
import { recordTracking } from '../../commands/tracking/record.ts'
import type { TrackedDelivery } from '../../db/tracking/reads.ts'
import { machineOf } from '../../rules/mail/machines.ts'
import { createClientIp, peerOf } from '../http/clientIp.ts'
import type { ApiDeps, ApiEnv } from '../http/env.ts'
import { createRoutes } from '../http/openapi.ts'
import { pageHeaders, unsubscribePage } from './unsubscribePage.ts'

/** One transparent pixel. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const USER_AGENT_CHARS_MAX = 512
const headers = {
  'Cache-Control': 'no-store, private',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex',
}

export function trackingRoutes(deps: ApiDeps) {
  const app = createRoutes()
  const clientIp = createClientIp(deps.config.trustedProxies)

  const record = async (c: Context<ApiEnv>, delivery: TrackedDelivery, link: string | null) => {
    const header = (name: string) => c.req.header(name)
    const ip = clientIp(peerOf(c), header('x-forwarded-for'))
    const fetched = link === null ? 'picture' : 'link'
    const machine = machineOf({ method: c.req.method, fetched, header, ip })
    const userAgent = (header('user-agent') ?? '').slice(0, USER_AGENT_CHARS_MAX)
    const visit = { ip, userAgent, machine }
    await recordTracking(deps, delivery.workspace_id, { delivery, link, visit })
  }

  /** Runs work whose failure is only logged: a reader must get the picture or the target of the link anyway. */
  const quietly = async (c: Context<ApiEnv>, work: () => Promise<void>) => {
    try {
      await work()
    } catch (err) {
      deps.log.warn({ err, request_id: c.var.requestId }, 'an open or click was not recorded')
    }
  }

  // Every token gets the same picture. A broken picture would be visible in the email, and would show that a
  // guessed token is wrong.
  app.get('/t/o/:token', async (c) => {
    await quietly(c, async () => {
      const delivery = await findTracked(deps, 'open', c.req.param('token'))
      if (delivery) await record(c, delivery, null)
    })
    return c.body(new Uint8Array(GIF), 200, { ...headers, 'Content-Type': 'image/gif' })
  })

  app.get('/t/c/:token', async (c) => {
    const delivery = await findTracked(deps, 'click', c.req.param('token'))
    if (!delivery || delivery.url === null) {
      return c.html(unsubscribePage('unknown', ''), 404, pageHeaders)
    }
    const { url } = delivery
    await quietly(c, () => record(c, delivery, url))
    return c.body(null, 302, { ...headers, Location: toLocation(url) })
  })

  return app
}

/** A target for the Location header (RFC 3986): unchanged if it is visible ASCII, otherwise escaped. */
function toLocation(url: string): string {
  return /^[\x21-\x7e]+$/.test(url) ? url : new URL(url).href
}
