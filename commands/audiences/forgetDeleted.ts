// Deletes what is left of deleted audiences, page by page: each page is a commit of its own.
import {
  beginPageOfDeleted,
  deleteChangesOfDeleted,
  deleteContactsOfDeleted,
  deleteEmptyAudience,
  findDeletedAudience,
} from '../../db/audiences/deleted.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { fillReadersOf } from '../segments/keep.ts'
import { transact } from '../transact.ts'

/** Of one commit. */
const PAGE = 1_000

type Deps = Pick<CommandDeps, 'db' | 'wake' | 'now'>

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
 * @returns 'held': somebody has the audience, another worker for a page of it perhaps
 */
export function forgetAudiencePage(
  deps: Deps,
  workspaceId: WorkspaceId,
  { id, from, limit }: { id: string; from: string; limit: number },
): Promise<ForgottenPage | 'held' | 'gone'> {
  return transact(deps, async (inTrx) => {
    const { db } = inTrx
    const begun = await beginPageOfDeleted(db, workspaceId, id)
    if (begun !== 'begun') return begun
    const page = { from, limit }
    const { deleted, last } = await deleteContactsOfDeleted(db, workspaceId, id, page)
    if (last !== null) return { deleted, next: last, isGone: false }
    const changes = await deleteChangesOfDeleted(db, workspaceId, id, limit)
    const isGone = changes < limit && (await deleteEmptyAudience(db, workspaceId, id))
    // A worker of the release before may have filled them from the rows that stood here yet.
    if (isGone) await fillReadersOf(inTrx, workspaceId, id)
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
  /** Audiences that are left out, since they have failed lately. */
  but?: readonly string[]
  /** Rows of a page; for tests. */
  page?: number
}

/**
 * Deletes all that is left. The workspaces take turns, a page each, so that one with much to delete or one that fails keeps none of the
 * others waiting. An audience that fails, or that somebody holds, is passed over until the round ends, so that others of its workspace come.
 * Any number may run at once, and each may be killed at any moment.
 */
export async function forgetDeleted(
  deps: Deps,
  { pause, isStopping, onFailure, places = new Map(), but = [], page = PAGE }: Round,
): Promise<void> {
  const passedOver = [...but]
  const held = new Set<string>()
  let after = ''
  while (!isStopping()) {
    const next = await findDeletedAudience(deps.db, { after, but: passedOver })
    if (!next) {
      // Each page deletes something, moves its place on, or has its audience passed over: so a round ends.
      if (after === '') break
      after = ''
      continue
    }
    const { workspace_id, id } = next
    after = workspace_id
    const began = performance.now()
    try {
      const from = places.get(id) ?? ''
      const done = await forgetAudiencePage(deps, workspace_id, { id, from, limit: page })
      if (done === 'held') held.add(id)
      else if (done === 'gone' || done.next === '') places.delete(id)
      else places.set(id, done.next)
      if (done === 'held' || (done !== 'gone' && isAllHeld(done, from))) passedOver.push(id)
    } catch (err) {
      passedOver.push(id)
      onFailure(err, next)
    }
    await pause(performance.now() - began)
  }
  if (isStopping()) return
  // Of what has failed, rows may be left where the pages have been already. Who holds an audience is mostly another worker, whose pages are
  // no reason to walk over one's own again.
  for (const id of places.keys()) if (!held.has(id)) places.delete(id)
}

/** Whether a page has looked at all that is left, and somebody holds each row of it. */
const isAllHeld = ({ deleted, next, isGone }: ForgottenPage, from: string): boolean =>
  deleted === 0 && next === '' && !isGone && from === ''
