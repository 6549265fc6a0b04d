// Before a relay has answered at all, a few deliveries go ahead of the others, so that one that refuses everything is
// not asked by all of them.

/** Deliveries that go ahead. */
const AHEAD_MAX = 5
/** The others wait no longer: a relay may be slow. */
const WAIT_MS = 1_000

/** Called once, when a delivery has ended; whether the relay was asked. */
type Leave = (wasAsked: boolean) => void

/** Makes the gate of one process. @param isNeeded false: everything passes */
export function createProving(isNeeded: boolean): { enter: () => Promise<Leave> } {
  let ahead = 0
  let isProven = !isNeeded
  let open = () => {}
  const proven = new Promise<void>((resolve) => {
    open = resolve
  })
  const leave: Leave = (wasAsked) => {
    ahead -= 1
    if (!wasAsked) return
    isProven = true
    open()
  }
  let passed: Promise<void> | undefined
  const moment = () => {
    passed ??= new Promise((resolve) => {
      setTimeout(resolve, WAIT_MS).unref()
    })
    return passed
  }

  return {
    /** Resolves when a delivery may go. */
    async enter() {
      if (!isProven && ahead >= AHEAD_MAX) await Promise.race([proven, moment()])
      ahead += 1
      return leave
    },
  }
}
