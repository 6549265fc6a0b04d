// Whether a resolver is believed that does not find the domain of a recipient.
import { expect, test } from 'vitest'
import { createResolverDoubt } from '../../../mail/dns/doubtedResolver.ts'
import type { MxHosts } from '../../../mail/dns/mxHosts.ts'
import type { Dns, DnsAnswer } from '../../../mail/dns/resolver.ts'

const unknown: MxHosts = { kind: 'unknown_domain', error: 'NXDOMAIN' }
const noServer: MxHosts = { kind: 'no_server', error: 'neither MX nor address' }
const nullMx: MxHosts = { kind: 'null_mx' }
const RETURN_PATH = 'bounces.sender.test'

type Missing = Exclude<DnsAnswer<never>, { kind: 'ok' }>

/** A resolver that finds the MX records of these domains alone. */
function createStage({
  found = [],
  missing = { kind: 'nxdomain' },
}: {
  found?: string[]
  missing?: Missing
}) {
  const domains = new Set(found)
  const asked: string[] = []
  const clock = { ms: 0 }
  let doubts = 0
  const none = async () => missing
  const mx: Dns['mx'] = async (name) => {
    asked.push(name)
    const records = [{ priority: 10, exchange: `mx.${name}` }]
    return domains.has(name) ? { kind: 'ok', records } : missing
  }
  const dns: Dns = { mx, a: none, aaaa: none, txt: none, cname: none, soa: none }
  const believed = createResolverDoubt({
    dns,
    onDoubt: () => {
      doubts += 1
    },
    now: () => clock.ms,
  })
  return {
    domains,
    asked,
    clock,
    doubts: () => doubts,
    look: async (looked: MxHosts, domain = 'typo.test', returnPath = RETURN_PATH) =>
      (await believed(looked, domain, returnPath)).kind,
  }
}

test.each<Missing>([
  { kind: 'nxdomain' },
  { kind: 'nodata' },
  { kind: 'servfail', error: 'REFUSED' },
  { kind: 'timeout', error: 'TIMEOUT' },
])('the first domain is doubted where the return path is not found: $kind', async (missing) => {
  const { look, doubts } = createStage({ missing })
  expect(await look(unknown)).toBe('doubted')
  expect(await look(noServer), 'it may say of each name that it has no record').toBe('doubted')
  expect(doubts(), 'it is told once').toBe(1)
})

test('any number of missing domains are believed where the return path is found, which is asked for once', async () => {
  const { look, asked, clock, doubts } = createStage({ found: [RETURN_PATH] })
  const kinds = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => look(unknown, `typo${i}.test`)),
  )
  expect(new Set(kinds)).toEqual(new Set(['unknown_domain']))
  expect(await look(noServer)).toBe('no_server')
  expect(await look(unknown, 'typo.test', 'bounces.other.test')).toBe('unknown_domain')
  expect(asked).toEqual([RETURN_PATH])
  clock.ms += 5_000
  expect(await look(unknown)).toBe('unknown_domain')
  expect(asked).toEqual([RETURN_PATH, RETURN_PATH])
  expect(doubts()).toBe(0)
})

test('the domain that it found last speaks for it where a sender has lost its records', async () => {
  const { look, domains, clock, doubts } = createStage({ found: ['acme.test'] })
  expect(await look(noServer, 'acme.test'), 'found without a record').toBe('doubted')
  expect(await look(nullMx, 'acme.test')).toBe('null_mx')
  expect(await look(unknown)).toBe('unknown_domain')
  domains.clear()
  clock.ms += 5_000
  expect(await look(unknown)).toBe('doubted')
  expect(doubts(), 'it was believed in between').toBe(2)
})

test('what a cache has from a resolver that was doubted is not believed when that is well again', async () => {
  const { look, domains, asked, clock } = createStage({})
  expect(await look(unknown, 'acme.test')).toBe('doubted')
  for (const domain of [RETURN_PATH, 'acme.test']) domains.add(domain)
  clock.ms += 5_000
  expect(await look(unknown, 'acme.test')).toBe('doubted')
  expect(await look(unknown, 'typo.test'), 'not there now either').toBe('unknown_domain')
  clock.ms += 60_000
  expect(await look(unknown, 'typo.test')).toBe('unknown_domain')
  expect(asked.filter((name) => name === 'typo.test')).toHaveLength(1)
})

test('one sender without records makes no mail of others wait', async () => {
  const { look } = createStage({ found: [RETURN_PATH] })
  expect(await look(unknown, 'typo.test', 'bounces.lapsed.test')).toBe('doubted')
  expect(await look(unknown)).toBe('unknown_domain')
})

test('what the DNS answers otherwise is left as it is, and asks nothing', async () => {
  const { look, asked } = createStage({})
  for (const looked of [
    nullMx,
    { kind: 'no_host', error: 'its MX is this server' },
    { kind: 'unanswered', error: 'SERVFAIL' },
  ] as const) {
    expect(await look(looked)).toBe(looked.kind)
  }
  expect(asked).toEqual([])
})
