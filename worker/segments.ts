// Keeps segments of contacts: fills those that workflows begin at, and looks again at contacts when a rule of time can turn.
import { fillNext } from '../commands/segments/fill.ts'
import { type LookDeps, lookAtDue } from '../commands/segments/lookDue.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const EVERY_MS = 1_000

/** Looks every second, which is one step into an index while nothing is due. Any number of workers may do it. @returns `stop` ends it */
export function startSegments(deps: LookDeps & { log: Log }): { stop: () => Promise<void> } {
  const { log } = deps
  let isStopping = false
  const untilNoneIsLeft = async (turn: () => Promise<boolean>) => {
    while (!isStopping && (await turn()));
  }
  const onError: Parameters<typeof lookAtDue>[1] = (err, { contact_id, segment_ids }) =>
    log.warn(
      { err, contact_id, segment_ids },
      'a contact was not looked at for segments; tried again',
    )
  const loops = [
    () => {
      let turns: Awaited<ReturnType<typeof lookAtDue>> = null
      return untilNoneIsLeft(async () => {
        turns = await lookAtDue(deps, onError, turns ?? undefined)
        return turns !== null
      })
    },
    () => untilNoneIsLeft(() => fillNext(deps, () => isStopping)),
  ].map((work) =>
    repeat({
      every_ms: EVERY_MS,
      work,
      onFailure: (err) => log.warn({ err }, 'segments were not kept; tried again'),
    }),
  )
  return {
    async stop() {
      isStopping = true
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
