// How slowly a body may come, and that one that comes too slowly is told which pace was asked of it.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createPace } from '../../../api/http/bodies/pace.ts'
import type { PaceRules } from '../../../api/http/bodies/rules.ts'

const rules: PaceRules = {
  grace_ms: 50,
  bytesPerSecondMin: 10_000,
  contendedBytesPerSecondMin: 256_000,
  silent_ms: 60_000,
}

/** Waits for bytes that never come, after `bytes` have come. */
async function stop(given: Partial<PaceRules>, isContended: boolean, bytes: number) {
  const silent = new PassThrough() as unknown as IncomingMessage
  const pace = createPace({ ...rules, ...given }, () => isContended)
  pace.came(bytes)
  return pace.wait(silent).catch((err: unknown) => err)
}

test('the usual pace', async () => {
  expect(await stop({}, false, 100)).toMatchObject({
    status: 408,
    code: 'body_too_slow',
    message: expect.stringMatching(
      /^The body came too slowly: 100 bytes in 0\.\d seconds; at least 10000 bytes a second are asked for after 0.05 seconds$/,
    ),
  })
})

test('the pace that is asked for while others wait', async () => {
  // Enough for the usual pace, which would give it 2 s.
  expect(await stop({}, true, 20_000)).toMatchObject({
    message: expect.stringMatching(
      /^The body came too slowly: 20000 bytes in 0\.\d seconds; at least 256000 bytes a second are asked for while other bodies wait for its memory$/,
    ),
  })
})

test('a client that stopped', async () => {
  expect(await stop({ grace_ms: 60_000, silent_ms: 100 }, false, 7)).toMatchObject({
    message: 'The body stopped for 0.1 seconds after 7 bytes',
  })
})

test('asks for the faster pace only from when the body was in the way', async () => {
  const rules = {
    grace_ms: 1_000,
    bytesPerSecondMin: 1,
    contendedBytesPerSecondMin: 1e9,
    silent_ms: 60_000,
  }
  let isInTheWay = false
  const pace = createPace(rules, () => isInTheWay)
  const incoming = new IncomingMessage(new Socket())
  const comesAfter = async (wait_ms: number) => {
    setTimeout(() => incoming.push('a'), wait_ms)
    await pace.wait(incoming)
    pace.came(incoming.read().length)
  }
  pace.came(10)
  await comesAfter(1_200)
  isInTheWay = true
  await comesAfter(1)
  await expect(pace.wait(incoming)).rejects.toThrow('came too slowly: 12 bytes')
})
