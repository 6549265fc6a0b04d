// The public pages: /docs with everything from this server, and the pictures of users.
import { beforeAll, describe, expect, it } from 'vitest'
import { initialsOf } from '../../api/public/avatars.ts'
import { createTestApi, type TestApi } from '../setup/api.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

const get = (path: string) => api.request('GET', path, undefined, { authorization: '' })

describe('/docs', () => {
  it('is a page that loads only what this server has, under a strict policy', async () => {
    const page = await get('/docs')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    expect(page.text).not.toMatch(/<script>|<style|https?:/)
    const links = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(
      (match) => match[1] ?? '',
    )
    expect(links).toHaveLength(3)
    for (const link of links) {
      const file = await get(link)
      expect([link, file.status]).toEqual([link, 200])
      expect(file.headers.get('content-type')).toMatch(/^text\/(css|javascript)/)
      expect(file.text.length).toBeGreaterThan(50)
    }
  })

  it('serves no other file', async () => {
    for (const path of ['/docs/package.json', '/docs/..%2fpackage.json', '/docs/index.html']) {
      expect((await get(path)).status).toBe(404)
    }
  })

  it('shows a description that has every route of these resources', async () => {
    const { body } = await get('/v1/openapi.json')
    const paths = Object.keys(body['paths'] ?? {})
    expect(paths).toEqual(
      expect.arrayContaining([
        '/v1/emails',
        '/v1/emails/{id}',
        '/v1/templates/{id}/render',
        '/v1/audiences/{audienceId}/contacts/batch',
        '/v1/domains/{id}',
      ]),
    )
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

  it('takes letters and digits alone from names', () => {
    const named = (first: string | null, last: string | null, email = 'x@y.co') =>
      initialsOf({ first_name: first, last_name: last, email })
    expect(named('<script>', '"&')).toBe('S')
    expect(named('élan', 'ß')).toBe('ÉSS')
    expect(named(null, null, '<9@y.co')).toBe('9')
    expect(named('💥', null, '-')).toBe('?')
  })
})
