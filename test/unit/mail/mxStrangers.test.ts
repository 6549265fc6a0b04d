// What servers of somebody else do says nothing of a destination, and takes none of its connections.
import { expect, test } from 'vitest'
import { cachedDns } from '../../../mail/dns/cache.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { at } from './relayHarness.ts'

const { dns } = useNameServer()

type Stage = Awaited<ReturnType<typeof createStage>>

const stateOf = (stage: Stage, key: string) =>
  stage.transport.destinations().find(({ group }) => group === key)

const kinds = (outcomes: { kind: string }[]) => outcomes.map(({ kind }) => kind)

test.each(['ghost', 'spared'])(
  'a server beside those of a provider slows nobody else there: %s',
  async (domain) => {
    const stage = await createStage(cachedDns(dns()))
    const shop = await stage.serve(2, (step) => (isFull && step === 'banner' ? full : undefined))
    const stranger = await stage.serve(4, at('mail', '421 4.7.0 go away'))
    const full = '421 4.7.0 too many connections'
    let isFull = true
    for (let i = 0; i < 6; i++) await stage.send(`${domain}.acme.test`)
    expect(stranger.seen.connections).toBeGreaterThan(0)
    isFull = false
    expect((await stage.send('shop.acme.test')).kind).toBe('delivered')
    expect(stateOf(stage, 'microsoft')).toMatchObject({ limit: 5, restsUntil: 0 })
    expect(shop.seen.messages).toHaveLength(1)
  },
)

test('a server beside those of a provider holds none of its connections', async () => {
  const stage = await createStage(cachedDns(dns()), {
    connections: 1,
    timeouts: { waitMs: 500, dotMs: 60_000 },
  })
  await stage.serve(2)
  await stage.serve(4)
  const { sending, letGo } = await stage.sendHeld('ghost.acme.test')
  expect((await stage.send('shop.acme.test')).kind).toBe('delivered')
  letGo()
  expect((await sending).kind).toBe('delivered')
})

test('the spare server of one domain slows no other one with the same first server', async () => {
  const stage = await createStage(cachedDns(dns()))
  let isFull = true
  await stage.serve(2, (step) =>
    isFull && step === 'banner' ? '421 4.7.0 too many connections' : undefined,
  )
  await stage.serve(3, at('mail', '421 4.7.0 go away'))
  for (let i = 0; i < 6; i++) {
    expect(await stage.send('backed1.acme.test')).toMatchObject({ code: 421, phase: 'mail' })
  }
  isFull = false
  expect((await stage.send('backed2.acme.test')).kind).toBe('delivered')
  expect(stateOf(stage, '127.0.0.2')).toMatchObject({ limit: 5, restsUntil: 0 })
})

test('what a spare server accepts does not say that the first one is back', async () => {
  let now = 1_000_000
  const stage = await createStage(cachedDns(dns()), { now: () => now })
  await stage.serve(3)
  expect((await stage.send('backed2.acme.test')).kind).toBe('failed')
  expect(stateOf(stage, '127.0.0.2')).toMatchObject({ limit: 1, restsUntil: 1_030_000 })
  now += 30_000
  const outcomes: { kind: string }[] = []
  for (let i = 0; i < 3; i++) outcomes.push(await stage.send('backed1.acme.test'))
  expect(kinds(outcomes)).toEqual(Array(3).fill('delivered'))
  expect(stateOf(stage, '127.0.0.2')?.limit).toBe(1)
})

test('while a destination rests its mail says why in the words of its own servers', async () => {
  const stage = await createStage(cachedDns(dns()))
  await stage.serve(3, at('banner', '421 4.7.0 words of a stranger'))
  expect((await stage.send('backed1.acme.test')).kind).toBe('failed')
  const error = expect.stringMatching(/^not tried now.*h2\.acme\.test.*REFUSED/)
  expect(await stage.send('backed2.acme.test')).toMatchObject({ kind: 'busy', error })
})

test('a domain whose first server has no address keeps the pace of those that it has', async () => {
  const stage = await createStage(cachedDns(dns()))
  await stage.serve(3, at('mail', '421 4.7.0 go away'))
  await stage.send('gone.acme.test')
  expect(stage.state().limit).toBe(2)
})
