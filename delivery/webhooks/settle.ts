// Writes how tries have ended, many in one commit, and tells other webhooks of those that are disabled by it.
import { type InTrx, transact } from '../../commands/transact.ts'
import { toWebhookData } from '../../commands/webhooks/data.ts'
import { findWebhook } from '../../db/webhooks/reads.ts'
import { type DisabledWebhook, type SettledTry, settleWebhooks } from '../../db/webhooks/settle.ts'
import { tellWebhooks } from '../../db/webhooks/writes.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import { writeGroupOrEach } from '../writeGroupOrEach.ts'
import type { WebhookDeps } from './deps.ts'

const SETTLED_MAX = 500
/** Under load, how long tries wait for others: nobody waits for them, and each commit is waited for by the disk. */
const GATHER_MS = 20
/** From one line of the log to the next that says that a try was not written. */
const SAY_MS = 1_000

type Deps = Pick<WebhookDeps, 'db' | 'now' | 'wake' | 'log' | 'metrics'>

/**
 * @returns a function that resolves when the try is committed, and rejects when it was not. `isAgain`: it was not before, and so shares no
 * commit with those of which that is not known, which would wait for it
 */
export function createWebhookSettler(
  deps: Deps,
): (one: SettledTry, isAgain: boolean) => Promise<void> {
  const say = sayAtTimes(deps)
  const first = createGroups(deps, say)
  const again = createGroups(deps, say)
  return async (one, isAgain) => {
    const fault = await (isAgain ? again : first)(one)
    if (fault !== undefined) throw fault
  }
}

/** Makes the function that writes a try with others. @returns what has kept it from being written */
function createGroups(
  deps: Deps,
  say: ReturnType<typeof sayAtTimes>,
): (one: SettledTry) => Promise<unknown> {
  return createBatcher<SettledTry, unknown>(
    async (tries) => {
      // Whoever holds the row of an endpoint holds up all of its tries, and no other.
      const ids = [...new Set(tries.map(({ webhook_id }) => webhook_id))]
      const faults = await writeGroupOrEach(ids, (some) => {
        const own = new Set(some)
        return write(
          deps,
          tries.filter(({ webhook_id }) => own.has(webhook_id)),
        )
      })
      const failed = faults.findIndex((fault) => fault !== undefined)
      if (failed >= 0) say(faults[failed], ids[failed])
      const faultOf = new Map(ids.map((id, i) => [id, faults[i]]))
      return tries.map(({ webhook_id }) => faultOf.get(webhook_id))
    },
    SETTLED_MAX,
    { gather_ms: GATHER_MS },
  )
}

/** Makes the function that logs that a try was not written, once in a while: where Postgres is away every group fails. */
function sayAtTimes({ log }: Pick<Deps, 'log'>) {
  let said = Number.NEGATIVE_INFINITY
  return (err: unknown, webhook_id: string | undefined): void => {
    if (performance.now() - said < SAY_MS) return
    said = performance.now()
    log.warn({ err, webhook_id }, 'an outcome was not written; it is tried again')
  }
}

/** Writes tries in one commit. */
async function write(deps: Deps, tries: readonly SettledTry[]): Promise<void> {
  // Nothing is disabled by what succeeds, so there is nobody to tell in the same commit.
  if (tries.every(({ state }) => state === 'succeeded')) {
    await transact.one(deps, ({ db }) => settleWebhooks(db, tries))
    return
  }
  const disabled = await transact(deps, async (inTrx) => {
    const over = await settleWebhooks(inTrx.db, tries)
    await tellOfDisabled(inTrx, over)
    return over
  })
  noteDisabled(deps, disabled)
}

/** Writes `webhook.disabled` for others that ask for it. */
export async function tellOfDisabled(
  { db, now }: InTrx<Pick<Deps, 'db' | 'now'>>,
  disabled: readonly DisabledWebhook[],
): Promise<void> {
  for (const { id, workspace_id } of disabled) {
    const row = await findWebhook(db, wholeWorkspace(workspace_id), id)
    if (!row) continue
    const event = { type: 'webhook.disabled', at: now(), data: toWebhookData(row) }
    await tellWebhooks(db, workspace_id, { ...event, domainId: row.domain_id })
  }
}

/** Says that webhooks were disabled, after the commit. */
export function noteDisabled(
  { log, metrics }: Pick<Deps, 'log' | 'metrics'>,
  disabled: readonly DisabledWebhook[],
): void {
  for (const { id, workspace_id } of disabled) {
    log.warn({ webhook_id: id, workspace_id }, 'a webhook was disabled')
    metrics.disabled()
  }
}
