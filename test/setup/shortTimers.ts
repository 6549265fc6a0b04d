// A workflow interceptor for tests: long timers fire after a hundredth of a second.
import type { WorkflowInterceptors } from '@temporalio/workflow'

const LONG_MS = 60 * 60 * 1000
const SHORT_MS = 10

export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      startTimer: (input, next) =>
        next(input.durationMs < LONG_MS ? input : { ...input, durationMs: SHORT_MS }),
    },
  ],
})
