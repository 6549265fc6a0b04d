// Clears up after webhooks: disables endpoints with too much that waits, and deletes what deleted ones leave.
import { transact } from '../../commands/transact.ts'
import { deleteWebhookRemains, disableBacklogs } from '../../db/webhooks/housekeeping.ts'
import { limits } from '../../rules/limits.ts'
import { repeat } from '../../runtime/repeat.ts'
import type { WebhookDeps } from './deps.ts'
import { noteDisabled, tellOfDisabled } from './settle.ts'

const EVERY_MS = 60_000
const PAGE = 1_000

type Deps = Pick<WebhookDeps, 'db' | 'now' | 'wake' | 'log' | 'metrics'>

/** Any number of workers may do it. @returns `stop` ends it after the page that it is at */
export function startHousekeeping(deps: Deps): { stop: () => Promise<void> } {
  let isStopping = false
  const looking = repeat({
    every_ms: EVERY_MS,
    work: () => clearUp(deps, () => isStopping),
    onFailure: (err) => deps.log.warn({ err }, 'webhooks were not cleared up; tried again'),
  })
  return {
    stop() {
      isStopping = true
      return looking.stop()
    },
  }
}

/** @param pendingMax of one endpoint; another one for tests */
export async function clearUp(
  deps: Deps,
  isStopping: () => boolean = () => false,
  pendingMax: number = limits.webhookPendingMax,
): Promise<void> {
  const disabled = await transact(deps, async (inTrx) => {
    const over = await disableBacklogs(inTrx.db, pendingMax)
    await tellOfDisabled(inTrx, over)
    return over
  })
  noteDisabled(deps, disabled)
  const page = () => transact.one(deps, ({ db }) => deleteWebhookRemains(db, PAGE))
  while (!isStopping() && (await page()) > 0);
}
