// Unsubscribe links (RFC 8058). Public, without a key; the token is the proof.
import type { Context } from 'hono'
import { followUnsubscribe } from '../../commands/unsubscribes/follow.ts'
import { undoUnsubscribe } from '../../commands/unsubscribes/undo.ts'
import { findLeft } from '../../db/opt-outs/reads.ts'
import { findUnsubscribeMail, type UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { type MachineReason, machineOf } from '../../rules/mail/machines.ts'
import { copyToken } from '../../rules/wire.ts'
import { createClientIp, peerOf } from '../http/clientIp.ts'
import type { ApiDeps, ApiEnv } from '../http/env.ts'
import { createRoutes } from '../http/openapi.ts'
import { pageHeaders, type UnsubscribePage, unsubscribePage } from './unsubscribePage.ts'

/** Machines that open every link of an email, recognised by their headers. Their requests change nothing. */
const LOOKERS: readonly (MachineReason | null)[] = [
  'head',
  'prefetch',
  'link_scanner',
  'link_preview',
  'mail_proxy',
]

const leftNow = async ({ db, addressMac }: ApiDeps, mail: UnsubscribeMail) => {
  // Of whoever was erased the HMAC alone is left.
  const hmac = mail.email === '' ? mail.hmac : addressMac(mail.workspace_id, mail.email)
  if (!hmac) return undefined
  return findLeft(db, mail.workspace_id, { workflowId: mail.workflow_id, hmac })
}

export function unsubscribeRoutes(deps: ApiDeps) {
  const app = createRoutes()
  const clientIp = createClientIp(deps.config.trustedProxies)

  const isLooker = (c: Context<ApiEnv>): boolean => {
    const header = (name: string) => c.req.header(name)
    const ip = clientIp(peerOf(c), header('x-forwarded-for'))
    return LOOKERS.includes(machineOf({ method: c.req.method, fetched: 'link', header, ip }))
  }

  /** The email of a token; undefined if the token is unknown. */
  const find = async (token: string) =>
    /^[\w-]{22}$/.test(token) ? findUnsubscribeMail(deps.db, token) : undefined

  const show = (c: Context<ApiEnv>, page: UnsubscribePage, token: string) =>
    c.html(unsubscribePage(page, token), page === 'unknown' ? 404 : 200, pageHeaders)

  const showNone = (c: Context<ApiEnv>, token: string) =>
    show(c, token === copyToken ? 'copy' : 'unknown', '')

  // HEAD comes here too (a GET without a body) and changes nothing.
  app.get('/u/:token', async (c) => {
    const token = c.req.param('token')
    const mail = await find(token)
    if (!mail) return showNone(c, token)
    const known = await leftNow(deps, mail)
    const isDirect = deps.config.unsubscribeLinkMode === 'direct'
    // While a GET of another email's link may be undone, this one counts beside it.
    const isUnconfirmed = known ? ![null, mail.id].includes(known.unconfirmed_email_id) : true
    const acts = isDirect && isUnconfirmed && !isLooker(c)
    if (!acts) return show(c, known ? 'left' : 'ask', token)
    const left = await followUnsubscribe(deps, mail.workspace_id, { mail, by: 'get' })
    return show(c, left ? 'left' : 'ask', token)
  })

  // One-click: no redirect, no cookie, and the same answer for repeated requests.
  app.post('/u/:token', async (c) => {
    const token = c.req.param('token')
    const mail = await find(token)
    if (!mail) return showNone(c, token)
    await followUnsubscribe(deps, mail.workspace_id, { mail, by: 'post' })
    return show(c, 'left', token)
  })

  app.post('/u/:token/undo', async (c) => {
    const token = c.req.param('token')
    const mail = await find(token)
    if (!mail) return showNone(c, token)
    await undoUnsubscribe(deps, mail.workspace_id, mail)
    return show(c, 'back', token)
  })

  return app
}
