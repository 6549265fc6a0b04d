// Callers share a look while it runs and for a while after it; a failed one is not kept.
import { expect, it } from 'vitest'
import { shareLook } from '../../../runtime/sharedLook.ts'

it('looks once for all who ask while it looks and shortly after', async () => {
  let looks = 0
  const look = shareLook(async () => ++looks, 60_000)
  expect(await Promise.all([look(), look(), look()])).toEqual([1, 1, 1])
  expect(await look()).toBe(1)
})

it('looks again when the answer is too old, and after a failure', async () => {
  let looks = 0
  const always = shareLook(async () => ++looks, 0)
  expect([await always(), await always()]).toEqual([1, 2])

  let fails = true
  const failing = shareLook(async () => {
    if (fails) throw new Error('not there')
    return 'there'
  }, 60_000)
  await expect(Promise.all([failing(), failing()])).rejects.toThrow('not there')
  fails = false
  expect(await failing()).toBe('there')
})
