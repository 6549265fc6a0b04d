// The mail of an erased contact: what is to them, what names them beside those who got it, and what their executions have sent to the team about them.
import type { Trx } from '../../db/connect.ts'
import {
  type BlankedMail,
  blankMail,
  type ErasedAddress,
  findFirstSlice,
  hasMailLeft,
  listMailToBlank,
  replaceFirstSlice,
} from '../../db/contacts/blank.ts'
import { cancelMail, type Erased } from '../../db/contacts/erase.ts'
import { lockDeliveriesToBlank } from '../../db/contacts/lockDeliveries.ts'
import {
  blankNamingMail,
  hasNamingMailLeft,
  listNamingMail,
  type NamingMail,
  walkNamingMail,
} from '../../db/contacts/namingMail.ts'
import {
  blankTeamMail,
  cancelTeamMail,
  hasTeamMailLeft,
  listTeamMail,
} from '../../db/contacts/teamMail.ts'
import { walkTeamMail } from '../../db/contacts/teamMailWalk.ts'
import { lockMailsTracking } from '../../db/tracking/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { blankHeader } from './blankHeader.ts'
import { ALL, type ErasePlace } from './erasePlace.ts'

/** Whose mail a page of the job blanks. */
export type Whom = Erased & ErasedAddress & { hmac: Buffer }

/** Cancels what waits. @returns how much of it; fewer than `limit`: no more does */
export async function cancelErasedMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Erased,
  { now, limit }: { now: Date; limit: number },
): Promise<number> {
  const theirs = await cancelMail(trx, workspaceId, whom, { now, limit })
  if (theirs >= limit) return theirs
  const left = { now, limit: limit - theirs }
  return theirs + (await cancelTeamMail(trx, workspaceId, whom.contactId, left))
}

/** How far mail was walked over. */
type MailPlace = Pick<ErasePlace, 'team' | 'naming'>

/** Mail that is blanked next. */
export interface ErasedMail {
  theirs: BlankedMail[]
  /** Mail to others whose header names them. */
  naming: NamingMail[]
  /** Ids of mail to the team. */
  team: string[]
  /** How far it is walked over then. */
  at: MailPlace
}

/**
 * `waits`, `limit`: as of `listMailToBlank`. `from`: how far mail was walked over. `isPassedOverLater`: what the walks have passed over is left to
 * a page to come.
 */
interface MailPage {
  waits: boolean
  limit: number
  from: MailPlace
  isPassedOverLater: boolean
}

/** Finds it, and takes the tracking lock of each. */
export async function lockErasedMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  page: MailPage,
): Promise<ErasedMail> {
  const theirs = await listMailToBlank(trx, workspaceId, whom, page)
  // Copies for the team lose their content with theirs.
  const { team, at } =
    theirs.length > 0
      ? { team: [], at: page.from.team }
      : await nextTeamMail(trx, workspaceId, whom, page)
  const { naming, at: namingAt } = await nextNamingMail(trx, workspaceId, whom, page)
  const mail = { theirs, naming, team, at: { team: at, naming: namingAt } }
  await lockMailsTracking(trx, idsOf(mail))
  return mail
}

const idsOf = ({ theirs, naming, team }: ErasedMail): string[] => [
  ...[...theirs, ...naming].map((one) => one.email_id),
  ...team,
]

/**
 * All mail to the team is walked over once, so that a page reads its own alone; what was under way then is little, and is looked for among
 * all when no other kind has pages left.
 */
async function nextTeamMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  { from: { team: from }, isPassedOverLater, limit }: MailPage,
): Promise<{ team: string[]; at: ErasePlace['team'] }> {
  if (from !== ALL) {
    const { ids, next } = await walkTeamMail(trx, workspaceId, whom, { after: from, limit })
    return { team: ids, at: next ?? ALL }
  }
  const team = isPassedOverLater ? [] : await listTeamMail(trx, workspaceId, whom, limit)
  return { team, at: from }
}

/** Mail to others that names them is walked over once too. */
async function nextNamingMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  { from: { naming: from }, isPassedOverLater, waits, limit }: MailPage,
): Promise<{ naming: NamingMail[]; at: string }> {
  if (from !== ALL) {
    const walk = { after: from, waits, limit }
    const { mails, next } = await walkNamingMail(trx, workspaceId, whom, walk)
    return { naming: mails, at: next ?? ALL }
  }
  const left = { waits, limit }
  const naming = isPassedOverLater ? [] : await listNamingMail(trx, workspaceId, whom, left)
  return { naming, at: from }
}

/** Locks its deliveries, which come after executions. What webhooks are told of it is blanked after that, and before it. */
export const lockItsDeliveries = (
  trx: Trx,
  workspaceId: WorkspaceId,
  mail: ErasedMail,
): Promise<void> =>
  lockDeliveriesToBlank(
    trx,
    workspaceId,
    idsOf(mail),
    mail.naming.map((one) => one.email_id),
  )

/** Blanks it. @returns how much */
export async function blankErasedMail(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
  { theirs, naming, team }: ErasedMail,
  now: Date,
): Promise<number> {
  await blankHeaders(trx, workspaceId, whom, [...theirs, ...naming])
  await blankMail(trx, workspaceId, whom, theirs, now)
  await blankNamingMail(trx, workspaceId, whom, naming)
  await blankTeamMail(trx, workspaceId, whom, { ids: team, now })
  return theirs.length + naming.length + team.length
}

/** Whether some is still under way, or goes to others too who have not got it yet. */
export const hasErasedMailLeft = async (
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: Whom,
): Promise<boolean> =>
  (await hasMailLeft(trx, workspaceId, whom)) ||
  (await hasNamingMailLeft(trx, workspaceId, whom)) ||
  (await hasTeamMailLeft(trx, workspaceId, whom.contactId))

/** Of mail that was submitted as a whole and keeps its content, the header names them no more. */
async function blankHeaders(
  trx: Trx,
  workspaceId: WorkspaceId,
  whom: ErasedAddress,
  mails: readonly Pick<NamingMail, 'email_id' | 'loses_content'>[],
): Promise<void> {
  for (const { email_id: emailId, loses_content } of mails) {
    if (loses_content) continue
    const start = await findFirstSlice(trx, workspaceId, emailId)
    const without = start ? blankHeader(start, whom) : null
    if (without) await replaceFirstSlice(trx, workspaceId, emailId, without)
  }
}
