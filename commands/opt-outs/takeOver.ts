// Takes over what the release before has written: its unsubscriptions, and mail of its that waits. Any number of
// processes may do it at once, again and again: while both releases run, the older one goes on writing.
import * as before from '../../db/opt-outs/takeOver.ts'
import { insertOptOuts, type NewOptOut } from '../../db/opt-outs/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'

const PAGE = 500

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'wake' | 'addressMac'>

/** Copies all unsubscriptions from workflows. @returns false if another process is still at some of them */
export async function takeOverWorkflows(deps: Deps): Promise<boolean> {
  const copyPage = () =>
    transact(deps, async (inTrx) => {
      const rows = await before.lockUncopiedWorkflows(inTrx.db, PAGE)
      await copy(inTrx, rows, { scope: 'workflow', source: 'link' })
      await before.setWorkflowsCopied(inTrx.db, rows)
      return rows.length
    })
  while ((await copyPage()) === PAGE);
  return transact(deps, async ({ db }) => !(await before.hasUncopiedWorkflows(db)))
}

/** Copies all audience contacts that are not subscribed. Who set that is not known: a call may take it back. */
export async function takeOverAudiences(deps: Deps): Promise<void> {
  const copyPage = () =>
    transact(deps, async (inTrx) => {
      const rows = await before.lockUncopiedAudiences(inTrx.db, PAGE)
      await copy(inTrx, rows, { scope: 'audience', source: 'api' })
      await before.setAudiencesCopied(inTrx.db, rows)
      return rows.length
    })
  while ((await copyPage()) === PAGE);
}

/** Gives waiting mail what the claim looks at. Until it has it, claims put marketing mail off. */
export async function takeOverMail(deps: Deps): Promise<void> {
  const fillPage = () =>
    transact(deps, async ({ db, addressMac }) => {
      const rows = await before.lockUnlooked(db, PAGE)
      const filled = rows.map(({ id, marketing, workspace_id, recipient }) => ({
        id,
        hmac: marketing ? addressMac(workspace_id, recipient) : null,
      }))
      await before.setLooked(db, filled)
      return rows.length
    })
  while ((await fillPage()) === PAGE);
}

async function copy(
  { db, newId, addressMac }: InTrx<Deps>,
  rows: readonly before.LeftBefore[],
  as: Pick<NewOptOut, 'scope' | 'source'>,
): Promise<void> {
  // Each row names its own workspace, and an insert is for one.
  for (const workspaceId of new Set(rows.map((row) => row.workspace_id))) {
    const optOuts = rows.flatMap((row): NewOptOut | [] => {
      if (row.workspace_id !== workspaceId || row.email === null) return []
      const { target_id, unconfirmed_email_id, created_at } = row
      const address_hmac = addressMac(workspaceId, row.email)
      const id = newId('optOut')
      return { ...as, id, target_id, address_hmac, unconfirmed_email_id, created_at }
    })
    await insertOptOuts(db, workspaceId, optOuts)
  }
}
