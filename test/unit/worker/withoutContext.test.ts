// Activities of a process that only delivers, without an AsyncLocalStorage in use behind them.
import { AsyncLocalStorage } from 'node:async_hooks'
import { asyncLocalStorage, Context } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import { NativeConnection } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { inScope, ofProcess } from '../../../db/scope.ts'
import { withoutContext } from '../../../worker/withoutContext.ts'

test('an activity has its Context when it begins, and its storages are disabled then', async () => {
  const callContextStorage = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const activity = withoutContext(
    async (input: string) => {
      const context = Context.current()
      await Promise.resolve()
      seen.push(input, context.info.activityId, asyncLocalStorage.getStore())
      seen.push(callContextStorage.getStore())
    },
    { callContextStorage },
  )
  const env = new MockActivityEnvironment({ activityId: 'a' })
  await callContextStorage.run('a call', () => env.run(activity, 'lane'))
  expect(seen).toEqual(['lane', 'a', undefined, undefined])
  // The next activity has its own again.
  await env.run(async () => expect(Context.current().info.activityId).toBe('a'))
})

test('the SDK keeps what a call belongs to where it is looked for', () => {
  expect(String(NativeConnection)).toContain('callContextStorage = new')
})

test('what a process does for itself uses no storage outside of a scope', () => {
  expect(inScope(ofProcess, () => 'done')).toBe('done')
})
