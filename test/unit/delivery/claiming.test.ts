// When a lane claims: not at once again after a claim that left nothing due, and at once while more is due.
import { expect, test } from 'vitest'
import { claimUntil } from '../../../delivery/lane/claiming.ts'
import { createPulse } from '../../../runtime/pulse.ts'

/** How long each claim takes, ms. */
const TOOK_MS = 4

/** Runs a lane in which somebody else's mail comes all the time. @returns the pauses between its claims */
async function pausesOf(answers: readonly boolean[]) {
  const over = new AbortController()
  const pulse = createPulse()
  const pauses: { ms: number; turned: boolean }[] = []
  let turned = false
  let ended = 0
  let claims = 0
  await claimUntil(
    over.signal,
    { onDeliveries: () => async () => undefined },
    {
      inFlight: { free: () => 100 },
      pulse,
      claimMin: 50,
      quietly: async (_what, work) => void (await work()),
      waitForRoom: () => undefined,
      claim: async () => {
        const began = performance.now()
        if (claims > 0) pauses.push({ ms: began - ended, turned })
        while (performance.now() - began < TOOK_MS);
        const more = answers[claims] ?? false
        claims += 1
        pulse.beat()
        if (claims > answers.length) over.abort()
        turned = false
        setImmediate(() => {
          turned = true
        })
        ended = performance.now()
        return more
      },
    },
  )
  return pauses
}

test('a lane rests for twice the time of a claim that left nothing due', async () => {
  const pauses = await pausesOf([false, false, false])
  expect(pauses).toHaveLength(3)
  // A timer may come up to a millisecond before its time.
  for (const { ms } of pauses) expect(ms).toBeGreaterThan(2 * TOOK_MS - 2)
})

test('it claims again in the same turn while more is due', async () => {
  const pauses = await pausesOf([true, true, true])
  expect(pauses.map(({ turned }) => turned)).toEqual([false, false, false])
})
