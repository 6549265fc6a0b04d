// A workflow interceptor for tests alone: a timer also fires when the test says so, by the signal `fire`.
import { defineSignal, setHandler, type WorkflowInterceptors } from '@temporalio/workflow'

/** Fires the timer that the workflow function waits for. */
export const fire = defineSignal('fire')

export const interceptors = (): WorkflowInterceptors => {
  let fireNow: () => void = () => undefined
  setHandler(fire, () => fireNow())
  return {
    outbound: [
      {
        startTimer: (input, next) => {
          const fired = new Promise<void>((resolve) => {
            fireNow = resolve
          })
          return Promise.race([next(input), fired])
        },
      },
    ],
  }
}
