// Unsubscribe links (spec, What the service does, 5; RFC 8058). Public, without a key; the token is the proof.
import type { Context } from 'hono'
import { findUnsubscribe, resubscribe, unsubscribe } from '../../commands/unsubscribes/follow.ts'
import { type MachineReason, machineOf } from '../../rules/mail/machines.ts'
import { createClientIp, peerOf } from '../http/clientIp.ts'
import type { ApiDeps, ApiEnv } from '../http/env.ts'
import { createRoutes } from '../http/openapi.ts'
import { pageHeaders, type UnsubscribePage, unsubscribePage } from './unsubscribePage.ts'

/** Machines that open every link of a mail, by what they say of themselves; they never act. */
const LOOKERS: readonly (MachineReason | null)[] = [
  'head',
  'prefetch',
  'link_scanner',
  'link_preview',
]

export function unsubscribeRoutes(deps: ApiDeps) {
  const app = createRoutes()
  const clientIp = createClientIp(deps.config.trustedProxies)

  const isLooker = (c: Context<ApiEnv>): boolean => {
    const header = (name: string) => c.req.header(name)
    const ip = clientIp(peerOf(c), header('x-forwarded-for'))
    return LOOKERS.includes(machineOf({ method: c.req.method, header, ip }))
  }

  const show = (c: Context<ApiEnv>, page: UnsubscribePage, token: string) =>
    c.html(unsubscribePage(page, token), page === 'unknown' ? 404 : 200, pageHeaders)

  // HEAD comes here too (it is GET without its body), and never acts.
  app.get('/u/:token', async (c) => {
    const token = c.req.param('token')
    const found = await findUnsubscribe(deps, token)
    if (!found) return show(c, 'unknown', '')
    if (found.left) return show(c, 'left', token)
    const acts = deps.config.unsubscribeLinkMode === 'direct'
    if (!acts || isLooker(c)) return show(c, 'ask', token)
    const left = await unsubscribe(deps, found.mail, 'get')
    return show(c, left ? 'left' : 'ask', token)
  })

  // One-click: no redirect, no cookie, and the same answer however often it comes.
  app.post('/u/:token', async (c) => {
    const token = c.req.param('token')
    const found = await findUnsubscribe(deps, token)
    if (!found) return show(c, 'unknown', '')
    await unsubscribe(deps, found.mail, 'post')
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
