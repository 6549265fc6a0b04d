// Who is one client of the listener's limits: an IPv4 address, or a whole /64 of IPv6.
import { expect, onTestFinished, test } from 'vitest'
import { createGuard } from '../../../inbound/reports/guard.ts'
import { connectInbound } from './client.ts'
import { listenForReports } from './server.ts'

const inbound = listenForReports()

const LIMIT = 20
let ids = 0
const connects = (guard: ReturnType<typeof createGuard>) => (remoteAddress: string) => {
  const session = { id: `s${++ids}`, remoteAddress }
  return { session, refusal: guard.onConnect(session) }
}

test('all addresses of a /64 together have the connections of one', () => {
  const guard = createGuard({ life_ms: 1_000 })
  const connect = connects(guard)
  const open = Array.from({ length: LIMIT }, (_, i) => connect(`2001:db8:0:1:${i + 1}::${i + 9}`))
  expect(open.map(({ refusal }) => refusal)).toEqual(Array(LIMIT).fill(null))
  expect(connect('2001:db8:0:1:ffff::1').refusal).toMatchObject({ responseCode: 421 })
  expect(connect('2001:db8:0:2::1').refusal).toBeNull()
  // The refused one is counted until it has closed.
  for (const { session } of open.slice(0, 2)) guard.onClose(session)
  expect(connect('2001:db8:0:1::77').refusal).toBeNull()
})

test('an IPv4 address is one client in both spellings, and not one with others', () => {
  const connect = connects(createGuard({ life_ms: 1_000 }))
  for (let i = 0; i < LIMIT; i++) {
    expect(connect(i % 2 === 0 ? '192.0.2.1' : '::ffff:c000:0201').refusal).toBeNull()
  }
  expect(connect('::ffff:192.0.2.1').refusal).toMatchObject({ responseCode: 421 })
  expect(connect('::ffff:192.0.2.2').refusal).toBeNull()
})

test('on a socket that takes both families, IPv4 clients are not one /64', async () => {
  const both = await inbound.listen({ host: '::' })
  onTestFinished(both.stop)
  const clients = await Promise.all(
    Array.from({ length: LIMIT }, () => connectInbound(both.port, '127.0.0.2')),
  )
  onTestFinished(() => {
    for (const client of clients) client.close()
  })
  expect(clients.filter(({ banner }) => !banner.startsWith('220 '))).toEqual([])
  const [refused, other] = [
    await connectInbound(both.port, '127.0.0.2'),
    await connectInbound(both.port, '127.0.0.3'),
  ]
  expect([refused.banner.slice(0, 4), other.banner.slice(0, 4)]).toEqual(['421 ', '220 '])
  refused.close()
  other.close()
})
