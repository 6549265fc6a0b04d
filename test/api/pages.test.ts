// The public pages: what /docs does not serve, and the pictures of users.
import { beforeAll, describe, expect, it } from 'vitest'
import { initialsOf } from '../../api/public/avatars.ts'
import { createTestApi, type TestApi } from '../setup/api.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

const get = (path: string) => api.request('GET', path, undefined, { authorization: '' })

describe('/docs', () => {
  it('serves no other file', async () => {
    for (const path of ['/docs/package.json', '/docs/..%2fpackage.json', '/docs/index.html']) {
      expect((await get(path)).status).toBe(404)
    }
  })
})

describe('/avatars', () => {
  it('is a picture of the initials, cacheable, without a key', async () => {
    const answer = await get(`/avatars/${api.userId}.svg`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=86400')
    expect(answer.text).toMatch(/^<svg .*>AL<\/text><\/svg>$/)
  })

  it.each(['usr_00000000000000000000000000', 'x', '%3Cscript%3E', '..%2f..', '%00'])(
    'is a 404 for %s',
    async (id) => {
      expect((await get(`/avatars/${id}.svg`)).status).toBe(404)
    },
  )

  it('takes only letters and digits from names', () => {
    const named = (first: string | null, last: string | null, email = 'x@y.co') =>
      initialsOf({ first_name: first, last_name: last, email })
    expect(named('<script>', '"&')).toBe('S')
    expect(named('élan', 'ß')).toBe('ÉSS')
    expect(named(null, null, '<9@y.co')).toBe('9')
    expect(named('💥', null, '-')).toBe('?')
  })
})
