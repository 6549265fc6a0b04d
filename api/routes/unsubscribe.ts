// Unsubscribe links (spec, What the service does, 5; RFC 8058). Public, without a key; the token is the proof.
import type { Context } from 'hono'
import { findUnsubscribe, resubscribe, unsubscribe } from '../commands/unsubscribe.ts'
import type { ApiDeps, ApiEnv } from '../deps.ts'
import { createRoutes } from '../openapi.ts'
import { type UnsubscribePage, unsubscribePage } from '../unsubscribePage.ts'

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex',
}

/** A browser or proxy that looks ahead: nobody has followed the link yet. */
function isPrefetch(c: Context<ApiEnv>): boolean {
  const purposes = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].map((name) =>
    c.req.header(name),
  )
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose ?? ''))
}

export function unsubscribeRoutes(deps: ApiDeps) {
  const app = createRoutes()

  const show = (c: Context<ApiEnv>, page: UnsubscribePage, token: string) =>
    c.html(unsubscribePage(page, token), page === 'unknown' ? 404 : 200, HEADERS)

  // HEAD comes here too (it is GET without its body), and never acts.
  app.get('/u/:token', async (c) => {
    const token = c.req.param('token')
    const found = await findUnsubscribe(deps, token)
    if (!found) return show(c, 'unknown', '')
    if (found.left) return show(c, 'left', token)
    const acts = deps.config.unsubscribeLinkMode === 'direct'
    if (!acts || c.req.method === 'HEAD' || isPrefetch(c)) return show(c, 'ask', token)
    await unsubscribe(deps, found.mail)
    return show(c, 'left', token)
  })

  // One-click: no redirect, no cookie, and the same answer however often it comes.
  app.post('/u/:token', async (c) => {
    const token = c.req.param('token')
    const found = await findUnsubscribe(deps, token)
    if (!found) return show(c, 'unknown', '')
    await unsubscribe(deps, found.mail)
    return show(c, 'left', token)
  })

  app.post('/u/:token/undo', async (c) => {
    const token = c.req.param('token')
    const found = await findUnsubscribe(deps, token)
    if (!found) return show(c, 'unknown', '')
    await resubscribe(deps, found.mail)
    return show(c, 'back', token)
  })

  return app
}
