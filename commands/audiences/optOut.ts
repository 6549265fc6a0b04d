// The opt-out of somebody who left an audience.
import { listOwnOptOuts } from '../../db/opt-outs/reads.ts'
import { deleteOptOutsByApi, insertOptOuts, type NewOptOut } from '../../db/opt-outs/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

type Deps = InTrx<Pick<CommandDeps, 'db' | 'newId' | 'addressMac'>>

/** Makes the opt-out that a call of the API means. @param left `email` in lower case */
export function audienceOptOut(
  { newId, addressMac }: Pick<Deps, 'newId' | 'addressMac'>,
  workspaceId: WorkspaceId,
  { audienceId, email, at }: { audienceId: string; email: string; at: Date },
): NewOptOut {
  return {
    id: newId('optOut'),
    scope: 'audience',
    target_id: audienceId,
    address_hmac: addressMac(workspaceId, email),
    source: 'api',
    unconfirmed_email_id: null,
    created_at: at,
  }
}

/** Whether somebody is in an audience now. */
export interface Membership {
  /** In lower case. */
  email: string
  /** False: they are not subscribed, or no longer there. */
  isSubscribed: boolean
}

/**
 * Writes and takes back opt-outs of an audience as calls of the API say. The caller holds the audience's lock. What a
 * person did themselves is never taken back here.
 * @param takesBack whether this call may take back what such a call has made: a single one may, a list may not
 */
export async function noteMemberships(
  deps: Deps,
  workspaceId: WorkspaceId,
  { audienceId, at, takesBack }: { audienceId: string; at: Date; takesBack: boolean },
  members: readonly Membership[],
): Promise<void> {
  const { db, addressMac } = deps
  const leavers = members.filter(({ isSubscribed }) => !isSubscribed)
  const optOuts = leavers.map(({ email }) =>
    audienceOptOut(deps, workspaceId, { audienceId, email, at }),
  )
  await insertOptOuts(db, workspaceId, optOuts)
  if (!takesBack) return
  const back = members.filter(({ isSubscribed }) => isSubscribed)
  const hmacs = back.map(({ email }) => addressMac(workspaceId, email))
  await deleteOptOutsByApi(db, workspaceId, audienceId, hmacs)
}

/** Who has left by an act of their own, in lower case, and by which. */
export type OwnOptOuts = ReadonlyMap<string, string>

/** Those of the addresses (lower case) who have left the audience, or everything, themselves. The caller holds the audience's lock. */
export async function findOwnOptOuts(
  { db, addressMac }: Pick<Deps, 'db' | 'addressMac'>,
  workspaceId: WorkspaceId,
  audienceId: string,
  emails: readonly string[],
): Promise<OwnOptOuts> {
  if (emails.length === 0) return new Map()
  const hmacs = emails.map((email) => addressMac(workspaceId, email))
  const rows = await listOwnOptOuts(db, workspaceId, { audienceId, hmacs })
  const sources = new Map(rows.map((row) => [row.address_hmac.toString('hex'), row.source]))
  return new Map(
    emails.flatMap((email, i) => {
      const source = sources.get(hmacs[i]?.toString('hex') ?? '')
      return source === undefined ? [] : [[email, source]]
    }),
  )
}

/** Refuses a change that would subscribe somebody who has left themselves. */
export function refuseOptedOut(
  optOuts: OwnOptOuts,
  email: string,
  { is_subscribed }: { is_subscribed?: boolean | undefined },
): Refusal<'opted_out'> | undefined {
  const source = is_subscribed === true ? optOuts.get(email) : undefined
  return source === undefined ? undefined : refuse('opted_out', { email, source })
}
