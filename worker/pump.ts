// The pump: records mail events of the outbox for their contacts, workspace by workspace. It needs only Postgres.
import { setTimeout as delay } from 'node:timers/promises'
import { putOffContact, type TellDeps, tellContacts } from '../commands/events/tellContacts.ts'
import { listMailEventContacts, listMailEventWorkspaces } from '../db/deliveries/mailEventClaims.ts'
import { isUnavailable } from '../db/failures.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import type { Log } from '../runtime/log.ts'
import { createPulse } from '../runtime/pulse.ts'

const POLL_MS = 1_000
/** How often mail events of a locked contact are tried again. */
const HELD_POLL_MS = 250
/** Workspaces handled at the same time, each over one connection of the pool. */
const AT_A_TIME = 3
/** When a contact's mail events that could not be recorded are tried again. */
const RETRY_MS = 30_000

export interface PumpDeps extends TellDeps {
  log: Log
  /** Listens for committed mail events. Returns a function that stops listening. */
  onMailEvents: (wake: () => void) => () => Promise<void>
}

/** Starts the loop. `stop` ends it after the running commits. */
export function startPump(deps: PumpDeps): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const pulse = createPulse()
  const stopListening = deps.onMailEvents(pulse.beat)
  let after = ''

  /** Runs one commit for each workspace with due mail events. @returns ms until the next round */
  const round = async (): Promise<number> => {
    const { due, next } = await listMailEventWorkspaces(deps.db, after, deps.now())
    after = next ?? ''
    let told = 0
    let held = 0
    const serve = async () => {
      for (let id = due.shift(); id && !stopping.signal.aborted; id = due.shift()) {
        const done = await tell(deps, id)
        told += done.told
        held += done.held
      }
    }
    const served = await Promise.allSettled(Array.from({ length: AT_A_TIME }, serve))
    const failed = served.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
    if (told > 0 || next !== null) return 0
    return held > 0 ? HELD_POLL_MS : POLL_MS
  }

  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        const rest_ms = await round()
        if (rest_ms > 0) await pulse.next(rest_ms)
      } catch (err) {
        deps.log.warn({ err }, 'mail events could not be recorded for their contacts; trying again')
        await delay(POLL_MS, null, { signal: stopping.signal }).catch(() => undefined)
      }
    }
  }
  const running = run()

  return {
    async stop() {
      stopping.abort()
      pulse.beat()
      await stopListening()
      await running
    },
  }
}

/**
 * Runs one commit for a workspace. If it fails, runs one for each contact, so that one bad event does not stop the
 * others.
 */
async function tell(deps: PumpDeps, workspaceId: WorkspaceId) {
  try {
    return await tellContacts(deps, workspaceId)
  } catch (err) {
    if (isUnavailable(err)) throw err
    deps.log.warn(
      { err, workspace_id: workspaceId },
      'a commit of mail events failed; contact by contact',
    )
  }
  const sum = { told: 0, held: 0 }
  for (const contactId of await listMailEventContacts(deps.db, workspaceId, deps.now())) {
    try {
      const { told, held } = await tellContacts(deps, workspaceId, contactId)
      sum.told += told
      sum.held += held
    } catch (err) {
      if (isUnavailable(err)) throw err
      deps.log.error(
        { err, contact_id: contactId },
        'a mail event cannot be recorded; trying again later',
      )
      const until = new Date(deps.now().getTime() + RETRY_MS)
      await putOffContact(deps, workspaceId, contactId, until)
    }
  }
  return sum
}
