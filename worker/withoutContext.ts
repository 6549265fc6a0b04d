// Keeps Node from noting for each promise to which activity it belongs, in a process that runs lanes alone.
import type { AsyncLocalStorage } from 'node:async_hooks'
import { asyncLocalStorage } from '@temporalio/activity'

/** Where the SDK keeps what a call of a connection belongs to; its types do not show it. */
interface Calling {
  callContextStorage?: Pick<AsyncLocalStorage<unknown>, 'disable'>
}

/**
 * Wraps an activity that asks for its Context before it waits for anything. The SDK finds a Context by an AsyncLocalStorage, and as long
 * as one was used and not disabled, Node calls a hook for each promise and each call-back of the process, which is a tenth of
 * the worker's time for a mail. So they are disabled as soon as the activity has begun, until the next one begins.
 *
 * In the process no other activity may need its Context, and nothing give a deadline to calls of this connection.
 */
export function withoutContext<Input, Result>(
  activity: (input: Input) => Promise<Result>,
  connection: object,
): (input: Input) => Promise<Result> {
  return (input) => {
    const result = activity(input)
    asyncLocalStorage.disable()
    ;(connection as Calling).callContextStorage?.disable()
    return result
  }
}
