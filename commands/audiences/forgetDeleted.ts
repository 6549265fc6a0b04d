// Deletes what is left of deleted audiences, page by page: each page is a commit of its own.
import {
  deleteChangesOfDeleted,
  deleteContactsOfDeleted,
  deleteEmptyAudience,
  findDeletedAudience,
  lockDeletedAudience,
} from '../../db/audiences/deleted.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Of one commit. */
const PAGE = 1_000

type Deps = Pick<CommandDeps, 'db' | 'wake'>

export interface ForgottenPage {
  deleted: number
  /** The address at which the next page begins; '': at the first, for what was passed over. */
  next: string
  /** Whether nothing is left of the audience, its row neither. */
  isGone: boolean
}

/**
 * Deletes one page of a deleted audience, and its row where nothing else is left. Nobody waits for more than a page, and it waits for nobody.
 * Until the row goes, whoever does not know that it is deleted may add a contact: the row stays then, and the contact goes with a page to come.
 * @returns undefined: another worker is at it, or it is gone
 */
export function forgetAudiencePage(
  deps: Deps,
  workspaceId: WorkspaceId,
  { id, from, limit }: { id: string; from: string; limit: number },
): Promise<ForgottenPage | undefined> {
  return transact(deps, async ({ db }) => {
    if (!(await lockDeletedAudience(db, workspaceId, id))) return undefined
    const page = { from, limit }
    const { deleted, last } = await deleteContactsOfDeleted(db, workspaceId, id, page)
    if (last !== null) return { deleted, next: last, isGone: false }
    const changes = await deleteChangesOfDeleted(db, workspaceId, id, limit)
    const isGone = changes < limit && (await deleteEmptyAudience(db, workspaceId, id))
    return { deleted: deleted + changes, next: '', isGone }
  })
}

interface Round {
  /** Comes between two pages, and is given how long the last one took, ms. */
  pause: (took_ms: number) => Promise<unknown>
  isStopping: () => boolean
  /** Hears of a page that failed. What is left of that audience is left to the next round. */
  onFailure: (err: unknown, audience: { id: string }) => void
  /** Where the next page of an audience begins: pages before have left nothing there, and to walk over that takes longer each time. */
  places?: Map<string, string>
  /** Rows of a page; for tests. */
  page?: number
}

/**
 * Deletes all that is left. The workspaces take turns, a page each, so that one with much to delete or one that fails keeps none of the
 * others waiting. Any number may run at once, and each may be killed at any moment.
 */
export async function forgetDeleted(
  deps: Deps,
  { pause, isStopping, onFailure, places = new Map(), page = PAGE }: Round,
): Promise<void> {
  const failed: string[] = []
  let after = ''
  let isMoving = false
  while (!isStopping()) {
    const next = await findDeletedAudience(deps.db, { after, but: failed })
    if (!next) {
      if (!isMoving) break
      after = ''
      isMoving = false
      continue
    }
    const { workspace_id, id } = next
    after = workspace_id
    const began = performance.now()
    try {
      const asked = { id, from: places.get(id) ?? '', limit: page }
      const done = await forgetAudiencePage(deps, workspace_id, asked)
      if (done && !done.isGone) places.set(id, done.next)
      else places.delete(id)
      if (done && (done.deleted > 0 || done.isGone)) isMoving = true
    } catch (err) {
      failed.push(id)
      // Another one of its workspace may come next.
      isMoving = true
      onFailure(err, next)
    }
    await pause(performance.now() - began)
  }
  // What is left is held, or has failed: it may be where the pages have been already.
  if (!isStopping()) places.clear()
}
