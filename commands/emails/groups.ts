// Lets emails of one workspace that are accepted at the same time share their round trips and their commit.

import type { NewEmail } from '../../db/emails/insert.ts'
import { insertEmails, isPlain, type PlainEmail } from '../../db/emails/insertMany.ts'
import {
  type AskedSendFacts,
  listSendFacts,
  type SendFacts,
  type SendPrecondition,
} from '../../db/emails/sendFacts.ts'
import { isPassing, isRefusedByPostgres, isUnavailable } from '../../db/failures.ts'
import { NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { grouped } from '../grouped.ts'
import { currentHeldCommit } from '../heldCommit.ts'
import { transact } from '../transact.ts'
import { type KnownDomain, noteTried } from './knownDomains.ts'
import { macsOf, writeEmail } from './write.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

/** Emails of one commit. */
const GROUP_MAX = 50

export interface EmailGroups {
  findFacts(workspaceId: WorkspaceId, asked: AskedSendFacts): Promise<SendFacts>
  /**
   * Commits an email whose recipients are no automation contacts.
   * @throws what its own statement throws: the fault of another email of the group is not passed on
   */
  write(workspaceId: WorkspaceId, email: NewEmail): Promise<void>
  /**
   * Commits an email that was made by a known domain, if that has the same settings now and none of its recipients is an automation contact.
   * @returns false: it was not written, because of any email of its group. What must be known is to be asked
   * @throws what its own statement throws, and says that nothing can be written now or that nobody knows whether it was; NoPlace; ClientGone
   */
  writeIfCurrent(workspaceId: WorkspaceId, made: MadeByKnown): Promise<boolean>
}

/** An email that was made by a known domain, without asking. */
export interface MadeByKnown {
  email: PlainEmail
  known: KnownDomain
  /** Recipients who must not be automation contacts, in lower case. */
  addresses: readonly string[]
}

/**
 * The first email goes at once; those that come while its commit is under way share the next one. A group is given up
 * when all of its clients have gone; one who goes while the group waits is left out of it.
 */
export function createEmailGroups(deps: Deps): EmailGroups {
  const findFacts = grouped(
    (workspaceId, asked: AskedSendFacts[]) => listSendFacts(deps.db, workspaceId, asked),
    GROUP_MAX,
  )
  const writeGrouped = grouped(
    (workspaceId, group: PlainEmail[]) => writeEach(deps, workspaceId, group),
    GROUP_MAX,
  )
  const writeCurrentGrouped = grouped(
    (workspaceId, group: MadeByKnown[]) => writeAllIfCurrent(deps, workspaceId, group),
    GROUP_MAX,
  )
  return {
    findFacts,
    async writeIfCurrent(workspaceId, made) {
      const written = await writeCurrentGrouped(workspaceId, made)
      if (typeof written === 'object') throw written.error
      return written
    },
    async write(workspaceId, email) {
      // One whose answer is stored with it has a commit of its own.
      if (email.row.category !== 'transactional' || !isPlain(email) || currentHeldCommit())
        return writeOne(deps, workspaceId, email)
      const fault = await writeGrouped(workspaceId, email)
      if (fault) throw fault.error
    },
  }
}

type Fault = { error: unknown } | null

/**
 * Commits a group, or each of it by itself if Postgres refuses the group.
 * @returns what was wrong with each, in order
 */
async function writeEach(
  deps: Deps,
  workspaceId: WorkspaceId,
  group: PlainEmail[],
): Promise<Fault[]> {
  const [first] = group
  try {
    if (group.length === 1 && first) await writeOne(deps, workspaceId, first)
    else await insertGroup(deps, workspaceId, group)
    return group.map(() => null)
  } catch (error) {
    // Whether it was committed may be unknown then: to write it again would only find its own rows.
    if (isUnavailable(error) || group.length === 1) return group.map(() => ({ error }))
  }
  return Promise.all(
    group.map((email) =>
      writeOne(deps, workspaceId, email).then(
        () => null,
        (error: unknown) => ({ error }),
      ),
    ),
  )
}

/** Commits a group by one statement, or nothing of it. @returns for each whether it was, or what was wrong, in order */
async function writeAllIfCurrent(
  deps: Deps,
  workspaceId: WorkspaceId,
  group: readonly MadeByKnown[],
): Promise<(boolean | { error: unknown })[]> {
  const precondition = {
    domains: [...new Set(group.map(({ known }) => known.domain))],
    addresses: [...new Set(group.flatMap(({ addresses }) => addresses))],
  }
  const emails = group.map(({ email }) => email)
  let isWritten = false
  try {
    isWritten = await insertGroup(deps, workspaceId, emails, precondition)
  } catch (error) {
    // Those that wait would wait for as long.
    if (error instanceof NoPlace) throw error
    if (group.length === 1 || !mayBeOfOne(error)) return group.map(() => ({ error }))
  }
  noteTried(
    group.map(({ known }) => known),
    isWritten,
  )
  return group.map(() => isWritten)
}

/**
 * Whether a failure may be the fault of one of a group, so that the others may be written when each is asked for. Who has waited for a lock or
 * for Postgres does not wait again.
 */
const mayBeOfOne = (err: unknown): boolean => isRefusedByPostgres(err) && !isPassing(err)

const insertGroup = (
  deps: Deps,
  workspaceId: WorkspaceId,
  emails: readonly PlainEmail[],
  precondition?: SendPrecondition,
): Promise<boolean> =>
  transact.one(deps, async ({ db, wake }) => {
    // Before the statement, as `writeEmail` does.
    wake('dripline_deliveries')
    return insertEmails(db, workspaceId, emails, macsOf(deps, workspaceId), precondition)
  })

const writeOne = (deps: Deps, workspaceId: WorkspaceId, email: NewEmail) =>
  transact.one(deps, (inTrx) => writeEmail(inTrx, workspaceId, email, []))
