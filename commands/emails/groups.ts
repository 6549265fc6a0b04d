// Lets emails of one workspace that are accepted at the same time share their round trips and their commit.

import type { NewEmail } from '../../db/emails/insert.ts'
import { insertEmails, isPlain, type PlainEmail } from '../../db/emails/insertMany.ts'
import { type AskedSendFacts, listSendFacts, type SendFacts } from '../../db/emails/sendFacts.ts'
import { isUnavailable } from '../../db/failures.ts'
import { currentScope, inScope, whenAllAbort } from '../../db/scope.ts'
import { ClientGone } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createBatchers } from '../../runtime/batcher.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
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
}

/**
 * The first email goes at once; those that come while its commit is under way share the next one. A group is given up
 * when all of its clients have gone; one who goes while the group waits is left out of it.
 */
export function createEmailGroups(deps: Deps): EmailGroups {
  const findFacts = grouped((workspaceId, asked: AskedSendFacts[]) =>
    listSendFacts(deps.db, workspaceId, asked),
  )
  const writeGrouped = grouped((workspaceId, group: PlainEmail[]) =>
    writeEach(deps, workspaceId, group),
  )
  return {
    findFacts,
    async write(workspaceId, email) {
      if (email.row.category !== 'transactional' || !isPlain(email))
        return writeOne(deps, workspaceId, email)
      const fault = await writeGrouped(workspaceId, email)
      if (fault) throw fault.error
    },
  }
}

/** In place of a result, for a client that went away before its group began. */
const LEFT_OUT = Symbol('left out')

interface Asked<T> {
  item: T
  /** Aborted when its client has gone. */
  signal: AbortSignal | null
}

/** Makes a function that does the work of several clients of a workspace together. */
function grouped<T, R>(
  work: (workspaceId: WorkspaceId, items: T[]) => Promise<R[]>,
): (workspaceId: WorkspaceId, item: T) => Promise<R> {
  const run = async (
    workspaceId: WorkspaceId,
    asked: Asked<T>[],
  ): Promise<(R | typeof LEFT_OUT)[]> => {
    const staying = asked.filter(({ signal }) => !signal?.aborted)
    if (staying.length === 0) return asked.map(() => LEFT_OUT)
    const signal = whenAllAbort(staying.map((one) => one.signal))
    const scope = { owner: { kind: 'workspace', workspaceId }, signal } as const
    const results = await inScope(scope, () =>
      work(
        workspaceId,
        staying.map(({ item }) => item),
      ),
    )
    const found = new Map(staying.map((one, place) => [one, results[place] as R]))
    return asked.map((one) => (found.has(one) ? (found.get(one) as R) : LEFT_OUT))
  }
  const submit = createBatchers(run, GROUP_MAX)
  return async (workspaceId, item) => {
    const result = await submit(workspaceId, { item, signal: currentScope().signal })
    if (result === LEFT_OUT) throw new ClientGone('the client went away while its group waited')
    return result
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

const writeOne = (deps: Deps, workspaceId: WorkspaceId, email: NewEmail) =>
  transact.one(deps, (inTrx) => writeEmail(inTrx, workspaceId, email, []))
