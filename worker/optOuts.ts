// Carries out what people left by a GET, a minute later, and takes over what the release before still writes. It needs
// only Postgres.
import { setTimeout as delay } from 'node:timers/promises'
import type { TellDeps } from '../commands/events/tellContacts.ts'
import {
  takeOverAudiences,
  takeOverMail,
  takeOverWorkflows,
} from '../commands/opt-outs/takeOver.ts'
import { settleDueLeaves } from '../commands/unsubscribes/settleDue.ts'
import type { DueLeave } from '../db/opt-outs/leaves.ts'
import type { Log } from '../runtime/log.ts'

const POLL_MS = 1_000
/** How often it looks for what the release before has written. */
const TAKE_OVER_MS = 10_000

export interface OptOutDeps extends TellDeps {
  log: Log
}

/** Starts both loops, which do not wait for each other. `stop` ends them after their running commits. */
export function startOptOuts(deps: OptOutDeps): { stop: () => Promise<void> } {
  const { log } = deps
  const stopping = new AbortController()
  const { signal } = stopping

  const settle = async () => {
    const onFailure = (err: unknown, { contact_id, workflow_id }: DueLeave) =>
      log.error({ err, contact_id, workflow_id }, 'an unsubscription is carried out later')
    const { isMore } = await settleDueLeaves(deps, onFailure, signal)
    return isMore ? 0 : POLL_MS
  }
  const takeOver = async () => {
    await takeOverMail(deps)
    await takeOverWorkflows(deps)
    await takeOverAudiences(deps)
    return TAKE_OVER_MS
  }
  const run = async (round: () => Promise<number>, failed: string) => {
    while (!signal.aborted) {
      const rest_ms = await round().catch((err: unknown) => {
        log.warn({ err }, failed)
        return POLL_MS
      })
      await delay(rest_ms, null, { signal }).catch(() => undefined)
    }
  }
  const running = Promise.all([
    run(settle, 'unsubscriptions could not be carried out; trying again'),
    run(takeOver, 'what the release before has written could not be taken over; trying again'),
  ])
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}
