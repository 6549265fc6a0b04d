// Pictures of users: their initials on a colour that is derived from their id. Public, without a key.
import { findUserById } from '../../db/workspaces/reads.ts'
import { isId } from '../../rules/ids.ts'
import { fnv1a } from '../../rules/shard.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { createRoutes } from '../http/openapi.ts'

const CACHE_S = 24 * 60 * 60

export function avatarRoutes({ db }: Pick<ApiDeps, 'db'>) {
  const app = createRoutes()

  app.get('/avatars/:file', async (c) => {
    const [, id = ''] = /^(\w+)\.svg$/.exec(c.req.param('file')) ?? []
    const user = isId('user', id) ? await findUserById(db, id) : undefined
    if (!user) throw notFound('There is no such picture')
    return c.body(draw(id, initialsOf(user)), 200, {
      'Content-Type': 'image/svg+xml; charset=utf-8',
      'Cache-Control': `public, max-age=${CACHE_S}`,
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'X-Content-Type-Options': 'nosniff',
    })
  })

  return app
}

/** One or two letters or digits, from the names or, without names, from the address. */
export function initialsOf(user: {
  first_name: string | null
  last_name: string | null
  email: string
}): string {
  const named = [user.first_name, user.last_name].map(firstLetter).join('')
  return named || firstLetter(user.email) || '?'
}

/** Only letters and digits are allowed, so that a name cannot add markup. */
function firstLetter(text: string | null): string {
  return (/[\p{L}\p{N}]/u.exec(text ?? '')?.[0] ?? '').toUpperCase()
}

function draw(id: string, initials: string): string {
  const hue = fnv1a(id) % 360
  return `<svg xmlns="http://www.w3.org/2000/svg" width="96" height="96" viewBox="0 0 96 96"><rect width="96" height="96" fill="hsl(${hue},45%,40%)"/><text x="48" y="50" fill="#fff" font-family="sans-serif" font-size="40" text-anchor="middle" dominant-baseline="middle">${initials}</text></svg>`
}
