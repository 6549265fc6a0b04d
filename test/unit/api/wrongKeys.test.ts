// Wrong keys of one address: some are refused at once, many of them late, and nobody else waits.
import { expect, it } from 'vitest'
import { createWrongKeyPause } from '../../../commands/api-keys/wrongKeys.ts'

function setup() {
  let now = 1_000_000
  const pauses: (() => void)[] = []
  const wrongKey = createWrongKeyPause(
    () => new Promise<void>((resolve) => void pauses.push(resolve)),
    () => new Date(now),
  )
  /** How many of so many wrong keys were answered at once. */
  const atOnce = async (count: number, address: string) => {
    const before = pauses.length
    for (let i = 0; i < count; i++) void wrongKey(address)
    await new Promise(setImmediate)
    return count - (pauses.length - before)
  }
  return { atOnce, pauses, pass: (ms: number) => (now += ms) }
}

it('slows the address with many, for as long as it goes on', async () => {
  const { atOnce, pauses, pass } = setup()
  expect(await atOnce(100, '192.0.2.1')).toBe(20)
  expect(await atOnce(20, '192.0.2.2')).toBe(20)
  expect(pauses).toHaveLength(80)
  pass(10_001)
  expect(await atOnce(1, '192.0.2.1')).toBe(1)
})

it('holds back no more answers than fit, and none whose address is not known', async () => {
  const { atOnce } = setup()
  expect(await atOnce(100, '')).toBe(100)
  expect(await atOnce(6_000, '192.0.2.1')).toBe(1_000)
})

it('slows a /64 of IPv6 as one client, and not the next one', async () => {
  const { atOnce } = setup()
  let quick = 0
  for (let i = 0; i < 100; i++) quick += await atOnce(1, `2001:db8:0:1::${i.toString(16)}`)
  expect(quick).toBe(20)
  expect(await atOnce(1, '2001:db8:0:2::1')).toBe(1)
})
