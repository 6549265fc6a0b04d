// Clears up after webhooks: disables endpoints with too much that waits, deletes what is old, and what deleted ones leave.
import { transact } from '../../commands/transact.ts'
import {
  deleteOldWebhookRows,
  deleteWebhookRemains,
  disableBacklogs,
} from '../../db/webhooks/housekeeping.ts'
import { limits } from '../../rules/limits.ts'
import { repeat } from '../../runtime/repeat.ts'
import type { WebhookDeps } from './deps.ts'
import { noteDisabled, tellOfDisabled } from './settle.ts'

const EVERY_MS = 60_000
const PAGE = 1_000
const DAY_MS = 24 * 60 * 60 * 1000

type Deps = Pick<WebhookDeps, 'db' | 'now' | 'wake' | 'log' | 'metrics' | 'config'>

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
  const before = firstUuid(deps.now().getTime() - deps.config.webhookRetentionDays * DAY_MS)
  const pages = [
    () => transact.one(deps, ({ db }) => deleteOldWebhookRows(db, { before, limit: PAGE })),
    () => transact.one(deps, ({ db }) => deleteWebhookRemains(db, PAGE)),
  ]
  for (const page of pages) while (!isStopping() && (await page()) > 0);
}

/** The smallest id of that time, ms. */
function firstUuid(at_ms: number): string {
  const hex = Math.max(0, at_ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
