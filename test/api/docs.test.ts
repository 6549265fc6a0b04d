// The page of the interface description: complete on this server, and closed to every other host.
import { expect, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const get = (path: string) => api.app.request(path)

/** The sources that a policy allows for a kind of content. */
function allowed(policy: string, kind: string): string[] {
  const rule = policy.split('; ').find((one) => one.startsWith(`${kind} `))
  return rule?.split(' ').slice(1) ?? []
}

test('the root leads to the page', async () => {
  const answer = await get('/')
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs'])
})

test('the page and all that it loads come from this server', async () => {
  const page = await get('/docs')
  expect(page.status).toBe(200)
  const html = await page.text()
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '')
  expect(loaded).toContain('/docs/scalar.js')
  for (const url of loaded.filter((one) => one !== 'data:,')) {
    expect([url, (await get(url)).status]).toEqual([url, 200])
  }
})

test('the browser lets the page talk to this service alone', async () => {
  for (const path of ['/docs', '/docs/start.js', '/docs/scalar.js']) {
    const policy = (await get(path)).headers.get('content-security-policy') ?? ''
    expect(allowed(policy, 'default-src')).toEqual(["'none'"])
    expect(allowed(policy, 'script-src')).toEqual(["'self'"])
    expect(allowed(policy, 'connect-src')).toEqual(["'self'"])
    expect(allowed(policy, 'font-src')).toEqual(["'self'", 'data:'])
    expect(allowed(policy, 'img-src')).toEqual(["'self'", 'data:'])
  }
})

test('the script is the page builder, packed', async () => {
  const answer = await get('/docs/scalar.js')
  expect(answer.headers.get('content-encoding')).toBe('gzip')
  const packed = new Blob([await answer.arrayBuffer()]).stream()
  const script = await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).text()
  expect(script).toContain('createApiReference')
})
