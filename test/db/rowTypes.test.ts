// The row type of every raw SQL statement matches what Postgres describes: names, base types, and nulls.
// Long because it calls every raw statement, in each of its branches.

import { afterAll, expect, test } from 'vitest'
import { findApiKeysByHashes } from '../../db/api-keys/reads.ts'
import { replaceToken } from '../../db/api-keys/writes.ts'
import { foldAudienceChanges } from '../../db/audiences/changes.ts'
import { listPropertiesBytes } from '../../db/audiences/contactReads.ts'
import { insertAudienceContacts } from '../../db/audiences/contactWrites.ts'
import * as deletedAudiences from '../../db/audiences/deleted.ts'
import type { Trx } from '../../db/connect.ts'
import * as answers from '../../db/contacts/answers.ts'
import * as blank from '../../db/contacts/blank.ts'
import * as erase from '../../db/contacts/erase.ts'
import { blankExecutions } from '../../db/contacts/executionWalk.ts'
import { lockDeliveriesToBlank } from '../../db/contacts/lockDeliveries.ts'
import * as namingMail from '../../db/contacts/namingMail.ts'
import { listOpenTransactions } from '../../db/contacts/openTransactions.ts'
import * as teamMail from '../../db/contacts/teamMail.ts'
import { walkTeamMail } from '../../db/contacts/teamMailWalk.ts'
import { insertMissingMembers, waitingBriefly } from '../../db/contacts/writes.ts'
import {
  extendLeases,
  forgetClaims,
  listExpiredLeases,
  listMarked,
} from '../../db/deliveries/leases.ts'
import * as mailEvents from '../../db/deliveries/mailEventClaims.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import { listQueueDepths } from '../../db/deliveries/queueDepth.ts'
import { findSoleDelivery, listEmailAttempts } from '../../db/deliveries/reads.ts'
import { isAnyDue, readyDue } from '../../db/deliveries/ready.ts'
import { hastenScheduled, lockScheduled, stopScheduledOf } from '../../db/deliveries/scheduled.ts'
import { type Settlement, settleDeliveries } from '../../db/deliveries/settle.ts'
import { resumeWaiting, stopMailOfExecutions, stopWaiting } from '../../db/deliveries/stop.ts'
import * as testAnswers from '../../db/deliveries/testAnswers.ts'
import { bounceDelivery } from '../../db/deliveries/writes.ts'
import { listCheckedDomains } from '../../db/domains/lost.ts'
import { hastenUntried, lockColdDomains } from '../../db/domains/warmUp.ts'
import { listWarmUps } from '../../db/domains/warmUpReads.ts'
import { listEmailContents } from '../../db/emails/contents.ts'
import { listExecutionEmails, listWorkflowEmails } from '../../db/emails/ofExecutions.ts'
import { listEmails } from '../../db/emails/reads.ts'
import { listSendFacts } from '../../db/emails/sendFacts.ts'
import { readLongBody } from '../../db/emails/sliceReads.ts'
import { findConcerned } from '../../db/events/concerned.ts'
import { insertEventGroup } from '../../db/events/groupWrites.ts'
import { listAwaited, listCandidates } from '../../db/events/receivers.ts'
import { listTriggers } from '../../db/events/triggers.ts'
import { insertEvent } from '../../db/events/writes.ts'
import { listAdmissions } from '../../db/executions/admissions.ts'
import { listEmailActivity, listEventTimes } from '../../db/executions/facts.ts'
import { findHeld, listHeld, listHolding, lockPaused } from '../../db/executions/held.ts'
import { findRestart, isStartLeft, listLiveRows } from '../../db/executions/lost.ts'
import { listEndedExecutions } from '../../db/executions/reads.ts'
import { findSegmentState } from '../../db/executions/segmentState.ts'
import { findSegment } from '../../db/executions/segments.ts'
import { cancelAgain, cancelExecutions } from '../../db/executions/writes.ts'
import { listGrown } from '../../db/grownTables.ts'
import { tryLockIdempotencyKey } from '../../db/idempotency-keys/writes.ts'
import { listErasedAddresses, replaceErasedAddress } from '../../db/jobs/erasures.ts'
import { findLiveReplay, listLiveJobs } from '../../db/jobs/reads.ts'
import { findKnown } from '../../db/known.ts'
import { takeLane } from '../../db/lanes/writes.ts'
import { countDayPlaces } from '../../db/limits/reads.ts'
import { takeDayPlaces } from '../../db/limits/writes.ts'
import * as takeOver from '../../db/opt-outs/takeOver.ts'
import { insertOptOuts } from '../../db/opt-outs/writes.ts'
import { listOutboxLines } from '../../db/outbox.ts'
import { claimOutbox } from '../../db/outboxClaims.ts'
import {
  findOldestWaiting,
  findRefusedSummary,
  listRefused,
  listWaitingKinds,
} from '../../db/outboxReads.ts'
import { learnDestination, moveLines } from '../../db/recipient-domains/destinations.ts'
import { deleteUnusedDomains } from '../../db/recipient-domains/writes.ts'
import { retentionParts } from '../../db/retention/parts.ts'
import { countOld, readRetentionTime } from '../../db/retention/reads.ts'
import { deleteRetentionPage } from '../../db/retention/writes.ts'
import { listLiveSchedules } from '../../db/schedules/reads.ts'
import { claimFill } from '../../db/segments/fills.ts'
import { countKeptBytes, findKept, findKeptKeys } from '../../db/segments/kept.ts'
import { claimDueLooks, listPageFacts } from '../../db/segments/members.ts'
import { findSegmentConditions } from '../../db/segments/reads.ts'
import { listKeeping, listKeptReading } from '../../db/segments/writes.ts'
import { blankTagChanges, blankTags } from '../../db/stats/blank.ts'
import { foldEmailStats, lockFolding } from '../../db/stats/fold.ts'
import { listEmailStats } from '../../db/stats/reads.ts'
import { countUnsubscribe, uncountUnsubscribe } from '../../db/stats/unsubscribes.ts'
import {
  deleteErasedSuppression,
  eraseSuppression,
  suppressErased,
} from '../../db/suppressions/erased.ts'
import { listSuppressions } from '../../db/suppressions/reads.ts'
import { deleteSuppression, upsertSuppression } from '../../db/suppressions/writes.ts'
import { upsertSuspect } from '../../db/suspects/writes.ts'
import { countTracked, findTrackedDelivery, listLinkFetches } from '../../db/tracking/reads.ts'
import { tellOfComplaint } from '../../db/webhooks/complaints.ts'
import * as webhookHousekeeping from '../../db/webhooks/housekeeping.ts'
import * as webhookLanes from '../../db/webhooks/lanes.ts'
import * as webhookReads from '../../db/webhooks/reads.ts'
import { countReplayed, findReplayEnd, hasBacklog, replayPage } from '../../db/webhooks/replays.ts'
import { settleWebhooks } from '../../db/webhooks/settle.ts'
import { insertWebhookEvent, replayWebhookDelivery } from '../../db/webhooks/writes.ts'
import { listUsedDesignsHolding } from '../../db/workflows/usedDesigns.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { captureSql } from '../setup/capturedSql.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type DescribedColumn, openDescriber } from '../setup/describeSql.ts'
import { allLines, rights } from '../setup/queue.ts'
import { findRawStatements, inOneLine, type PromisedColumn } from '../setup/rawStatements.ts'

const { url } = await createTestDatabase()
const { describe: describeSql, close } = await openDescriber(url)
afterAll(close)

const ws = 'ws_1' as WorkspaceId
const reach = wholeWorkspace(ws)
const id = 'id_1'
const replayed = { webhookId: 'wh_1', since: new Date(0), until: new Date(1), events: ['*'] }
const uuid = '00000000-0000-0000-0000-000000000001'
const at = new Date(0)
const page = { after: null, limit: 2 }
const delivery = {
  id: 1,
  email_id: id,
  workspace_id: ws,
  recipient: 'a@b.test',
  to_team: false,
  address_hmac: null,
  own_hmac: null,
}
const event = {
  eventId: null,
  eventName: 'user.left',
  email: 'a@b.test',
  properties: {},
  at,
  contactProperties: null,
  createContact: true,
}
const hmac = Buffer.alloc(16)
const member = {
  ...{
    id,
    audience_id: id,
    workspace_id: ws,
    email: 'a@b.test',
    first_name: null,
    last_name: null,
  },
  ...{ is_subscribed: true, leave_copied: null, properties: {}, created_at: at, updated_at: at },
}
const erased = {
  contactId: id,
  email: 'a@b.test',
  deliveryId: 1,
  webhookEventId: '00000000-0000-0000-0000-000000000000',
  at,
  members: [],
  isCustomers: false,
}
const address = { email: 'a@b.test', isCustomers: false }
const blankedMail = {
  delivery_id: 1,
  email_id: id,
  loses_content: true,
  is_shared: true,
  is_of_team: true,
}
const arrived = {
  ...event,
  contact: { id, firstSeen: at, properties: {}, before: {}, isNew: false },
  hmac: () => hmac,
  now: at,
}
const pageAsked = { id, generation: 1, eventNames: ['a'], audienceIds: [id] }
const grouped = {
  id,
  event_id: id,
  id_hash: null,
  event_name: 'user.left',
  email: 'a@b.test',
  properties: {},
  at,
  historical: false,
  now: at,
}
const entry = { contactId: id, workflowId: id, earlier: null, key: null, oftenSince: at }
const made = { id, eventId: id, contactId: id, now: at, idHash: hmac }
const suppression = {
  email: 'a@b.test',
  reason: 'manual',
  source_id: null,
  expires_at: null,
} as const
const why = { code: 'cancelled', reason: 'by hand' } as const
const optOut = {
  id,
  scope: 'workflow',
  target_id: id,
  address_hmac: hmac,
  source: 'link',
  unconfirmed_email_id: null,
  created_at: at,
} as const
const moment = { at_ms: 0, id }
const owner = { lane: 0, epoch: 1 }
const softBounce: Settlement = {
  ...{ id: 1, state: 'bounced', nextAt: null, response: null, resent: 0, counted: true },
  ...{ event: null, suppress: 'soft', attempt: null },
}
const statsAsked = { hours: { from: 0, to: 1 }, interval: 'day', limit: 1 } as const
const learned = { domain: 'a.test', destination: 'provider', shard: 1 }

/** A call of each function that sends a raw statement, for each of its branches. */
const calls: ((trx: Trx) => Promise<unknown>)[] = [
  (trx) =>
    claimInTrx(trx, {
      ...allLines(1, { from: 0, to: 2 }),
      leaseToken: id,
      leaseMs: 1,
      now: at,
    }),
  (trx) =>
    claimInTrx(trx, {
      ...allLines(1, { from: 0, to: 2 }),
      leaseToken: id,
      leaseMs: 1,
      now: at,
      owner,
    }),
  (trx) => findApiKeysByHashes(trx, [hmac], at),
  (trx) =>
    takeDayPlaces(trx, ws, { subject: id, day: '2026-01-01', limit: 1, wanted: 1, all: false }),
  (trx) => countDayPlaces(trx, ws, id, '2026-01-01'),
  (trx) => replaceToken(trx, ws, id, { prefix: id, hash: hmac, formerUntil: at, now: at }),
  (trx) => foldAudienceChanges(trx),
  (trx) => deletedAudiences.findDeletedSummary(trx),
  (trx) => listUsedDesignsHolding(trx, ws, [id]),
  (trx) => deletedAudiences.findDeletedAudience(trx, { after: '', but: [id] }),
  (trx) => deletedAudiences.deleteContactsOfDeleted(trx, ws, id, { from: '', limit: 1 }),
  (trx) => listPropertiesBytes(trx, ws, [id]),
  (trx) => insertAudienceContacts(trx, ws, [member]),
  (trx) => tryLockIdempotencyKey(trx, ws, hmac),
  (trx) =>
    readyDue(trx, { from: 0, to: 64 }, at, { perShard: 1, rights, crowded: new Map([[1, '']]) }),
  (trx) => isAnyDue(trx, { shards: { from: 0, to: 64 }, now: at, since: undefined }),
  (trx) => lockScheduled(trx, reach, id),
  (trx) => hastenScheduled(trx, reach, id, { now: at, rights }),
  (trx) => stopScheduledOf(trx, ws, id, at),
  (trx) => learnDestination(trx, learned, at),
  (trx) => moveLines(trx, learned, learned, { move: 1, perLine: 1, inAll: 1 }),
  (trx) => deleteUnusedDomains(trx, { after: '', limit: 1, now: at }),
  (trx) => takeLane(trx, { lane: 0, lanes: 1, from: 0, to: 64, owner: id, until: at }),
  (trx) => extendLeases(trx, [1], id, 1),
  (trx) => listMarked(trx, [1], id),
  (trx) => listOutboxLines(trx, null, { now: at, refused: false }),
  (trx) =>
    claimOutbox(trx, [{ workspace_id: ws, starts_of: 'wf_1', most: 1 }], {
      now: at,
      until: at,
      refused: true,
    }),
  (trx) => listRefused(trx, 1),
  (trx) => findRefusedSummary(trx),
  (trx) => findOldestWaiting(trx),
  (trx) => listWaitingKinds(trx),
  (trx) => listExpiredLeases(trx, { from: 0, to: 64 }),
  (trx) => forgetClaims(trx, { from: 0, to: 64 }),
  (trx) => mailEvents.listMailEventWorkspaces(trx, '', at),
  (trx) => mailEvents.listMailEventContacts(trx, ws, at),
  (trx) => mailEvents.lockMailEvents(trx, ws),
  (trx) =>
    mailEvents.claimMailEvents(trx, ws, { now: at, rows: 1, perContact: 1, contactId: null }),
  (trx) => mailEvents.claimMailEvents(trx, ws, { now: at, rows: 1, perContact: 1, contactId: id }),
  (trx) => mailEvents.takeMailEvents(trx, ws, id, { names: ['clicked'], limit: 1 }),
  (trx) => listAwaited(trx, ws, [{ contact_id: id, name: 'delivered' }]),
  (trx) => markDataSent(trx, [1], id, at),
  (trx) => markDataSent(trx, [1], id, at, owner),
  (trx) => listQueueDepths(trx, at),
  listGrown,
  (trx) => listEmailAttempts(trx, reach, id, 2),
  (trx) => findSoleDelivery(trx, { messageId: id, workspaceId: ws }),
  (trx) => settleDeliveries(trx, [], id, at),
  (trx) => settleDeliveries(trx, [], null, at),
  (trx) => settleDeliveries(trx, [softBounce, softBounce], id, at),
  (trx) => settleDeliveries(trx, [softBounce, softBounce], null, at),
  (trx) => bounceDelivery(trx, { ...delivery, state: 'delivered' }, {}, at),
  (trx) => lockColdDomains(trx, [id]),
  (trx) => hastenUntried(trx, ws, { domainId: id, shard: 0, now: at, limit: 1 }),
  (trx) => listWarmUps(trx, id, at),
  (trx) => listWarmUps(trx, null, at),
  (trx) => listEmailContents(trx, [id]),
  (trx) => readLongBody(trx, id, 'html'),
  (trx) => listWorkflowEmails(trx, reach, id, page),
  (trx) => listWorkflowEmails(trx, reach, id, { ...page, after: id }),
  (trx) => listExecutionEmails(trx, reach, id),
  (trx) => listEmails(trx, reach, page),
  (trx) => {
    const filter = {
      status: 'bounced',
      to: 'a',
      from: 'a',
      tag: 'k:v',
      since: 0,
      until: 1,
    } as const
    return listEmails(trx, { ...reach, domainId: id }, { ...page, filter })
  },
  (trx) => listSendFacts(trx, ws, [{ domainName: 'b.test', addresses: ['a@b.test'] }]),
  (trx) => listCandidates(trx, ws, [arrived]),
  (trx) => findConcerned(trx, ws, [arrived]),
  (trx) => listTriggers(trx, ws, [{ names: ['user.left'], key: 'none' }]),
  (trx) => insertEvent(trx, ws, event, made),
  (trx) => insertEvent(trx, ws, { ...event, contactProperties: {}, createContact: false }, made),
  (trx) => insertEventGroup(trx, ws, [grouped], 'skip'),
  (trx) => insertEventGroup(trx, ws, [grouped], 'wait'),
  (trx) => insertEventGroup(trx, ws, [{ ...grouped, event_id: 'theirs' }], 'skip'),
  (trx) => insertEventGroup(trx, ws, [{ ...grouped, event_id: 'theirs' }], 'wait'),
  (trx) => listAdmissions(trx, ws, [entry]),
  (trx) => listEventTimes(trx, ws, [id], ['user.left']),
  (trx) => listEmailActivity(trx, ws, [id]),
  (trx) => listEndedExecutions(trx, ws, { workflowId: id }, { ...page, status: null }),
  (trx) =>
    listEndedExecutions(trx, ws, { contactId: id }, { limit: 2, after: moment, status: 'FAILED' }),
  (trx) => lockPaused(trx, ws, id),
  (trx) => listHolding(trx, 1),
  (trx) => findHeld(trx, ws, { workflowId: id, executionId: id }),
  (trx) => listHeld(trx, id, { after: id, limit: 1 }),
  (trx) => findSegment(trx, id, 1),
  (trx) => findSegmentState(trx, ws, { executionId: id, segment: 1, waitedAt: '', hmac, now: at }),
  (trx) => listLiveRows(trx, null, 1),
  (trx) => listLiveRows(trx, { contact_id: id, workflow_id: id, id }, 1),
  (trx) => isStartLeft(trx, [id]),
  (trx) => findRestart(trx, ws, id),
  (trx) => listCheckedDomains(trx, '', 1),
  (trx) => listLiveSchedules(trx, null, 1),
  (trx) => findKnown(trx, ws, 'workflow', [id]),
  (trx) => insertMissingMembers(trx, ws, id, [{ id, email: 'a@b.test' }], at),
  (trx) => waitingBriefly(trx, async () => undefined),
  (trx) => claimFill(trx, { now: at, until: at }),
  (trx) => findKeptKeys(trx, ws),
  (trx) => findKept(trx, ws, 'none'),
  (trx) => countKeptBytes(trx, ws),
  (trx) => claimDueLooks(trx, { now: at, until: at, limit: 1 }),
  (trx) => listPageFacts(trx, ws, [{ id, email: 'a@b.test' }], pageAsked),
  (trx) => findSegmentConditions(trx, ws, [id]),
  (trx) => listKeeping(trx, ws, [id], ['a']),
  (trx) => listKeptReading(trx, ws, id),
  (trx) => cancelExecutions(trx, ws, { executionId: id }, why, at),
  (trx) => cancelExecutions(trx, ws, { ofContact: id, limit: 1 }, why, at),
  (trx) => erase.deleteContactNews(trx, ws, id),
  (trx) => erase.findBounds(trx),
  (trx) => listOpenTransactions(trx, ['3/4']),
  (trx) => erase.insertLiveErasure(trx, ws, { hmac, deliveryId: 1 }),
  (trx) => erase.deleteLiveErasure(trx, ws, { hmac, deliveryId: 1 }),
  (trx) => erase.cancelMail(trx, ws, erased, { now: at, limit: 2 }),
  (trx) => blank.deleteEvents(trx, ws, { ids: [id], spent: [hmac] }),
  (trx) => blankExecutions(trx, ws, id, { after: null, limit: 2 }),
  (trx) => blank.blankWebhookEvents(trx, ws, erased, 2),
  (trx) => blank.listMailToBlank(trx, ws, erased, { waits: true, limit: 2 }),
  (trx) => blank.blankMail(trx, ws, { ...address, hmac }, [blankedMail], at),
  (trx) => blank.hasMailLeft(trx, ws, erased),
  (trx) => namingMail.walkNamingMail(trx, ws, erased, { after: '', waits: true, limit: 2 }),
  (trx) => namingMail.listNamingMail(trx, ws, erased, { waits: true, limit: 2 }),
  (trx) => namingMail.hasNamingMailLeft(trx, ws, erased),
  (trx) =>
    namingMail.blankNamingMail(trx, ws, address, [
      { email_id: id, loses_content: true, is_of_team: false },
    ]),
  (trx) => teamMail.cancelTeamMail(trx, ws, id, { now: at, limit: 2 }),
  (trx) => teamMail.listTeamMail(trx, ws, erased, 2),
  (trx) => lockDeliveriesToBlank(trx, ws, [id], [id]),
  (trx) => walkTeamMail(trx, ws, erased, { after: null, limit: 2 }),
  (trx) => teamMail.hasTeamMailLeft(trx, ws, id),
  (trx) => teamMail.blankTeamMail(trx, ws, address, { ids: [id], now: at }),
  (trx) => answers.listAnswers(trx, ws, { after: '', at, limit: 2 }),
  (trx) => answers.replaceAnswers(trx, ws, [{ key: '00', body: '' }]),
  (trx) => blank.forgetPlaces(trx, ws, 'a@b.test'),
  (trx) => blankTagChanges(trx, ws, 'a@b.test'),
  (trx) => blankTags(trx, ws, 'a@b.test', { after: null, limit: 2 }),
  (trx) =>
    blankTags(trx, ws, 'a@b.test', {
      after: { hour: 1, domain_id: id, value: 'a' },
      limit: 2,
    }),
  (trx) => listErasedAddresses(trx, { after: null, limit: 2 }),
  (trx) => replaceErasedAddress(trx, { id, address: '' }, ''),
  (trx) => listSuppressions(trx, ws, { after: null, limit: 2, now: at }),
  (trx) => listSuppressions(trx, ws, { after: { created_ms: 1, email: 'a' }, limit: 2, now: at }),
  (trx) => suppressErased(trx, ws, { ...suppression, address_hmac: hmac, created_at: at }),
  (trx) => deleteErasedSuppression(trx, ws, hmac, at),
  (trx) => eraseSuppression(trx, ws, { email: 'a@b.test', hmac }),
  (trx) => cancelAgain(trx, ws, { executionId: id, code: 'cancelled' }, at),
  (trx) => cancelExecutions(trx, ws, { workflowId: id, contactId: id }, why, at),
  (trx) => upsertSuspect(trx, { kind: 'segment', id, step: 'a', diedInRun: null }, at),
  (trx) => upsertSuspect(trx, { kind: 'email', id, step: 'a', diedInRun: null }, at),
  (trx) => upsertSuspect(trx, { kind: 'delivery', id, step: 'a', diedInRun: null }, at),
  (trx) => upsertSuppression(trx, ws, suppression, at),
  (trx) => deleteSuppression(trx, ws, 'a@b.test', at),
  (trx) => findTrackedDelivery(trx, 1, 1),
  (trx) => findTrackedDelivery(trx, 1, null),
  (trx) => listLinkFetches(trx, ws, delivery, at),
  (trx) => countTracked(trx, ws, delivery, 2),
  (trx) => testAnswers.insertTestVisits(trx, [{ id: 1, status: 'opened', at, data: {} }], at),
  (trx) => stopWaiting(trx, ws, { emails: ['a@b.test'] }, 'suppressed', at),
  (trx) => stopWaiting(trx, ws, { emails: ['a@b.test'], workflowId: id }, 'left', at),
  (trx) => stopMailOfExecutions(trx, ws, [id], at),
  (trx) => resumeWaiting(trx, ws, { emails: ['a@b.test'], workflowId: id }, at, at),
  (trx) => insertOptOuts(trx, ws, [optOut]),
  (trx) => takeOver.lockUncopiedWorkflows(trx, 1),
  (trx) => takeOver.lockUncopiedAudiences(trx, 1),
  (trx) => takeOver.lockUnlooked(trx, 1),
  (trx) => webhookReads.listWebhookDeliveries(trx, ws, { webhookId: id, state: null }, page),
  (trx) => webhookReads.listWebhookDeliveries(trx, ws, { webhookId: id, state: 'failed' }, page),
  (trx) => webhookReads.findWebhookDelivery(trx, ws, id, uuid),
  (trx) => insertWebhookEvent(trx, ws, id, { type: 'webhook.test', at, data: {} }),
  (trx) => replayWebhookDelivery(trx, ws, id, uuid),
  (trx) => webhookLanes.walkWebhooks(trx, { after: '', limit: 1 }),
  (trx) => webhookLanes.listDueWebhooks(trx, [id]),
  (trx) =>
    webhookLanes.takeWebhooks(trx, [id], {
      healthy: { free: 1, full: [] },
      others: { free: 1, full: [id] },
    }),
  (trx) => webhookLanes.renewWebhooks(trx, [{ id, epoch: 1 }]),
  (trx) => webhookLanes.listDueDeliveries(trx, { id, epoch: 1 }, { but: [uuid], limit: 1 }),
  (trx) => settleWebhooks(trx, []),
  (trx) => foldEmailStats(trx, 1),
  (trx) => lockFolding(trx),
  (trx) => listEmailStats(trx, reach, { ...statsAsked, group: null }),
  (trx) => listEmailStats(trx, { ...reach, domainId: id }, { ...statsAsked, group: 'tag' }),
  (trx) => uncountUnsubscribe(trx, ws, { emailId: id, at }),
  (trx) => countUnsubscribe(trx, ws, { emailId: id, at }),
  (trx) => listLiveJobs(trx, 1),
  (trx) => findLiveReplay(trx, ws, id),
  (trx) => hasBacklog(trx, ws, id, 1),
  (trx) => countReplayed(trx, ws, replayed, 1),
  findReplayEnd,
  (trx) => countReplayed(trx, ws, { ...replayed, events: null }, 1),
  (trx) => replayPage(trx, ws, replayed, { after: null, limit: 1, look: 1 }),
  (trx) => replayPage(trx, ws, { ...replayed, events: null }, { after: uuid, limit: 1, look: 1 }),
  (trx) => tellOfComplaint(trx, ws, { deliveryId: 1, emailId: id, email: 'a', at }),
  (trx) => webhookHousekeeping.disableBacklogs(trx, 1),
  (trx) => webhookHousekeeping.deleteWebhookRemains(trx, 1),
  (trx) => webhookHousekeeping.countPendingWebhooks(trx),
  (trx) => takeOver.confirmIfBefore(trx, ws, { optOutId: id, contactId: id }),
  (trx) => readRetentionTime(trx),
  ...retentionParts.flatMap((part): ((trx: Trx) => Promise<unknown>)[] => {
    const after = Object.keys(part.key).map(() => '1')
    return [
      (trx) => deleteRetentionPage(trx, part, { before: at, after: null, limit: 1 }),
      (trx) => deleteRetentionPage(trx, part, { before: at, after, limit: 1 }),
      (trx) => countOld(trx, part, { before: at, max: 1 }),
    ]
  }),
]

/** Columns that may be null in their table but not in the row, with the reason. */
const neverNull: Record<string, string> = {
  'db/emails/ofExecutions.ts listWithEvents workflow_id': 'mail of an execution has a workflow',
  'db/emails/ofExecutions.ts listWithEvents execution_id': 'mail of a workflow has an execution',
  'db/executions/facts.ts listEmailActivity execution_id': 'it was asked for by the execution',
  'db/executions/facts.ts listEmailActivity node_id': 'mail of an execution has a node',
}

/** What is wrong with one column that Postgres describes; undefined if nothing is. */
function faultOf(
  column: DescribedColumn,
  promised: PromisedColumn | undefined,
  place: string,
): string | undefined {
  if (!promised) return `${column.name} is not in the row type`
  const { types, elements } = promised
  // A jsonb document may be any JSON, but not a value that only pg makes (a Date, a Buffer).
  const isPromised =
    column.type === 'json' ? !types.has('Date') && !types.has('Buffer') : types.has(column.type)
  if (!isPromised)
    return `${column.name} is ${column.type}, the row type says ${[...types].join(' | ')}`
  if (column.element && !elements.has(column.element)) {
    return `${column.name} has ${column.element}, the row type says ${[...elements].join(' | ')}`
  }
  if (column.isNullable && !types.has('null') && !neverNull[`${place} ${column.name}`]) {
    return `${column.name} may be null, the row type does not say so`
  }
  return undefined
}

const statements = findRawStatements()
const texts = (await Promise.all(calls.map(captureSql))).flat().map(inOneLine)

test('there is a call of every raw statement', () => {
  expect(statements.length).toBeGreaterThan(25)
  const silent = statements.filter(({ pattern }) => !texts.some((text) => pattern.test(text)))
  expect(silent.map(({ place }) => place)).toEqual([])
})

test.each(statements.map((statement) => [statement.place, statement] as const))(
  '%s gives the columns of its row type',
  async (place, { pattern, columns }) => {
    for (const text of texts.filter((one) => pattern.test(one))) {
      const described = await describeSql(text)
      const missing = [...columns.keys()].filter(
        (name) => !described.some((column) => column.name === name),
      )
      const faults = described.flatMap(
        (column) => faultOf(column, columns.get(column.name), place) ?? [],
      )
      expect([...missing.map((name) => `${name} does not come back`), ...faults]).toEqual([])
    }
  },
)
