// How slowly a body may come: what it owed before others waited for its memory is not asked for afterwards.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createPace } from '../../../api/http/bodies/pace.ts'

it('asks for the faster pace only from when the body was in the way', async () => {
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
