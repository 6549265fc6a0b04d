// Finds whoever was erased and came back, when they leave by the mail that they had before.
import type { Trx } from '../../db/connect.ts'
import type { ContactRow } from '../../db/contacts/reads.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { hasSurelyLeft } from '../../db/opt-outs/reads.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import {
  findMailedContact,
  listRunningSince,
  type Running,
} from '../../db/unsubscribes/returned.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

/**
 * Executions that are looked through at most: whoever has a link may ask for it. Beyond them the marketing mail alone of who
 * came back is stopped, as by any opt-out.
 */
const LOOKED_MAX = 20_000
const PAGE = 1_000

type Deps = InTrx<Pick<CommandDeps, 'db' | 'addressMac'>> & { db: Trx }
type OldMail = Pick<UnsubscribeMail, 'workflow_id' | 'hmac' | 'created_at'>

/**
 * Locks the contact who now has the address of an erased one. They are found by marketing mail that they got since, or else
 * among those for whom the workflow runs. Nobody is looked for whose address has left it for certain: nothing of theirs can have begun since.
 * @param mail a mail of the erased one
 */
export async function lockReturned(
  deps: Deps,
  workspaceId: WorkspaceId,
  mail: OldMail,
): Promise<ContactRow | undefined> {
  const { workflow_id: workflowId, hmac, created_at: since } = mail
  const { db: trx, addressMac } = deps
  if (!hmac || (await hasSurelyLeft(trx, workspaceId, { workflowId, hmac }))) return undefined
  const id =
    (await findMailedContact(trx, workspaceId, { hmac, since })) ??
    (await findRunning(deps, workspaceId, { workflowId, hmac, since }))
  const contact = id === undefined ? undefined : await lockContact(trx, workspaceId, id)
  const isTheirs = contact && addressMac(workspaceId, contact.email).equals(hmac)
  return isTheirs ? contact : undefined
}

/** Makes the HMACs of those for whom the workflow runs, the newest execution first. */
async function findRunning(
  { db: trx, addressMac }: Deps,
  workspaceId: WorkspaceId,
  { hmac, ...of }: { workflowId: string; hmac: Buffer; since: Date },
): Promise<string | undefined> {
  let after: Running | undefined
  for (let looked = 0; looked < LOOKED_MAX; looked += PAGE) {
    const page = await listRunningSince(trx, workspaceId, { ...of, after, limit: PAGE })
    const found = page.find(({ email }) => addressMac(workspaceId, email).equals(hmac))
    if (found) return found.contact_id
    if (page.length < PAGE) return undefined
    after = page.at(-1)
  }
  return undefined
}
