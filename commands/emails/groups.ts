// Lets emails of one workspace that are accepted at the same time share their round trips and their commit.

import type { NewEmail } from '../../db/emails/insert.ts'
import { insertEmails, isPlain, type PlainEmail } from '../../db/emails/insertMany.ts'
import { type AskedSendFacts, listSendFacts, type SendFacts } from '../../db/emails/sendFacts.ts'
import { isRefusedByPostgres, isUnavailable } from '../../db/failures.ts'
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
   * Commits an email that was made by what was known of its domain, if that is still so and none of its recipients is an automation contact.
   * @returns false: it was not written, since one of the emails of its group was not to be, or Postgres has refused one. What must be known is
   *   to be asked
   * @throws what says that Postgres is away, when nobody knows whether it was committed; NoPlace; ClientGone
   */
  writeIfStillSo(workspaceId: WorkspaceId, made: MadeByKnown): Promise<boolean>
}

/** An email that was made without asking. */
export interface MadeByKnown {
  email: PlainEmail
  known: KnownDomain
  /** Of its recipients, in lower case. */
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
  const writeIfStillSo = grouped(
    (workspaceId, group: MadeByKnown[]) => writeKnown(deps, workspaceId, group),
    GROUP_MAX,
  )
  return {
    findFacts,
    writeIfStillSo,
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
    else
      await transact.one(deps, async ({ db, wake }) => {
        wake('dripline_deliveries')
        await insertEmails(db, workspaceId, group, macsOf(deps, workspaceId))
      })
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

/** Commits a group if all of it was made by what is still so. @returns for each whether it was, in order */
async function writeKnown(
  deps: Deps,
  workspaceId: WorkspaceId,
  group: readonly MadeByKnown[],
): Promise<boolean[]> {
  const facts = {
    domains: [...new Set(group.map(({ known }) => known.domain))],
    addresses: [...new Set(group.flatMap(({ addresses }) => addresses))],
  }
  const emails = group.map(({ email }) => email)
  const isWritten = await transact
    .one(deps, async ({ db, wake }) => {
      wake('dripline_deliveries')
      return insertEmails(db, workspaceId, emails, macsOf(deps, workspaceId), facts)
    })
    .catch((err: unknown) => {
      // It may be of one of them alone, which is found out when each is asked for.
      if (isRefusedByPostgres(err)) return false
      throw err
    })
  const tried = group.map(({ known }) => known)
  noteTried(tried, isWritten)
  return group.map(() => isWritten)
}

const writeOne = (deps: Deps, workspaceId: WorkspaceId, email: NewEmail) =>
  transact.one(deps, (inTrx) => writeEmail(inTrx, workspaceId, email, []))
