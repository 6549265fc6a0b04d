// Every query takes the workspace, or what the caller reaches of it, as its second parameter, or is listed here with a
// reason.
// Long because it lists every query without a workspace.
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { filesOf, nodesOf, parseSource } from '../setup/sources.ts'

/** Reasons for a query without a workspace, and the queries, as `folder/function`. */
const exceptions: Record<string, string[]> = {
  'lanes claim and settle mail of all workspaces, row by row': [
    'deliveries/claimDeliveries',
    'deliveries/listArrivals',
    'deliveries/listLines',
    'deliveries/readLines',
    'deliveries/readyDue',
    'deliveries/isAnyDue',
    'deliveries/extendLeases',
    'deliveries/releaseDeliveries',
    'deliveries/listExpiredLeases',
    'deliveries/forgetClaims',
    'deliveries/listMarked',
    'deliveries/listMailEventWorkspaces',
    'deliveries/markDataSent',
    'deliveries/listQueueDepths',
    'deliveries/settleDeliveries',
    'deliveries/insertTestVisits',
    'deliveries/wasRefused',
    'recipient-domains/learnDestination',
    'recipient-domains/moveLines',
    'domains/listDomainSigners',
    'domains/listColdDomains',
    'domains/lockColdDomains',
    'domains/changeDayPlaces',
    'domains/placeDeliveries',
    'domains/setWarmedUp',
    'emails/listEmailContents',
    'emails/listEmailCategories',
    'emails/listOwnEmails',
    'emails/readHeavyParts',
    'emails/readBeginnings',
    'emails/readLongBody',
    'emails/readSource',
    'tracking/insertEmailLinks',
  ],
  'a workflow function carries on a job of whichever workspace': [
    'jobs/listLiveJobs',
    'jobs/lockJob',
  ],
  'workers send to the webhooks of all workspaces, and clear up after them': [
    'webhooks/walkWebhooks',
    'webhooks/listDueWebhooks',
    'webhooks/takeWebhooks',
    'webhooks/renewWebhooks',
    'webhooks/releaseWebhooks',
    'webhooks/listDueDeliveries',
    'webhooks/settleWebhooks',
    'webhooks/disableBacklogs',
    'webhooks/deleteWebhookRemains',
    'webhooks/countPendingWebhooks',
  ],
  'the slices of an email that the same transaction has written': ['emails/insertSourceRest'],
  'workers fold the counts of audiences of all workspaces': ['audiences/foldAudienceChanges'],
  'workers delete what is left of deleted audiences of all workspaces': [
    'audiences/findDeletedAudience',
    'audiences/findDeletedSummary',
  ],
  'workers fold the statistics of all workspaces': ['stats/foldEmailStats', 'stats/lockFolding'],
  'workers delete what is old of all workspaces': [
    'retention/claimRetentionParts',
    'retention/countOld',
    'retention/deleteRetentionPage',
    'retention/listRetentionDays',
    'retention/readRetentionTime',
  ],
  'workers fill the segments of all workspaces, and look at their contacts': [
    'segments/claimDueLooks',
    'segments/claimFill',
  ],
  'it sets something for the transaction': [
    'contacts/boundLockWaits',
    'contacts/waitingBriefly',
    'idle/endWhenIdle',
  ],
  'bounds of all that Postgres has': [
    'contacts/findBounds',
    'contacts/listOpenTransactions',
    'webhooks/findReplayEnd',
  ],
  'a lane has mail of all workspaces': [
    'lanes/findLaneCount',
    'lanes/offerLane',
    'lanes/renewLane',
    'lanes/takeLane',
  ],
  'the outbox is carried for all workspaces': [
    'opt-outs/listDueLeaves',
    'outbox/listOutboxLines',
    'outboxClaims/claimOutbox',
    'outboxClaims/settleOutbox',
  ],
  'a namespace of Temporal has runs of all workspaces': [
    'domains/listCheckedDomains',
    'executions/isStartLeft',
    'executions/listHeld',
    'executions/listHolding',
    'executions/listLiveRows',
    'schedules/listLiveSchedules',
    'namespaces/claimRound',
    'namespaces/findNamespace',
    'namespaces/updateRound',
  ],
  'an operator looks at the outbox of all workspaces': [
    'outboxReads/findOldestWaiting',
    'outboxReads/findRefusedSummary',
    'outboxReads/listRefused',
    'outboxReads/listWaitingKinds',
  ],
  'the row or task that is written names its workspace': [
    'outbox/insertDomainTask',
    'outbox/insertRestart',
    'outbox/insertScheduleTask',
    'suppressions/recordSoftBounce',
  ],
  'a workflow function knows the id that it was started with, and nothing else': [
    'domains/findDomainToCheck',
    'executions/findSegment',
    'executions/findCall',
    'schedules/findSchedule',
    'executions/closeExecution',
    'executions/listLiveIds',
  ],
  'the execution or the mail of the suspect names the workspace': [
    'suspects/upsertSuspect',
    'suspects/clearSuspect',
  ],
  'suspects of all workspaces that have ended': ['suspects/deleteEndedSuspects'],
  'domains of recipients belong to no workspace': [
    'recipient-domains/deleteUnusedDomains',
    'recipient-domains/listMissingDomains',
    'recipient-domains/updateFoundDomains',
    'recipient-domains/upsertMissingDomains',
  ],
  'an operator names a domain of whichever workspace': ['domains/listWarmUps'],
  'an operator names a workspace or a key of whichever workspace': ['limits/findSubject'],
  'each process knows the limits of all workspaces': ['limits/listLimits'],
  'domains of all workspaces, when a worker starts': ['domains/startMissingChecks'],
  'the key tells whose request it is': ['api-keys/findApiKeysByHashes'],
  'a signed token names the row; who asks belongs to no workspace': [
    'deliveries/findReportedDelivery',
    'deliveries/lockReportedDelivery',
    'deliveries/bounceDelivery',
    'tracking/findTrackedDelivery',
    'tracking/lockMailTracking',
    'tracking/lockMailsTracking',
    'unsubscribes/findUnsubscribeMail',
  ],
  'a signed report of a feedback loop names the mail': ['deliveries/findSoleDelivery'],
  'mail for the postmaster names a domain of whichever workspace': ['domains/isSendingDomain'],
  'one key for all addresses': [
    'opt-outs/findAddressKey',
    'opt-outs/insertAddressKey',
    'opt-outs/replaceAddressKey',
  ],
  'an operator has the keys of all workspaces encrypted again': [
    'domains/listPrivateKeys',
    'domains/replacePrivateKey',
    'secrets/listAllSecrets',
    'secrets/replaceSecret',
    'secrets/listOpenCalls',
    'secrets/replaceRequest',
    'webhooks/listWebhookSecrets',
    'webhooks/replaceWebhookSecret',
    'jobs/listErasedAddresses',
    'jobs/replaceErasedAddress',
  ],
  'what the release before has written is taken over for all workspaces, row by row': [
    'opt-outs/lockUncopiedWorkflows',
    'opt-outs/setWorkflowsCopied',
    'opt-outs/lockUncopiedAudiences',
    'opt-outs/setAudiencesCopied',
    'opt-outs/hasUncopiedWorkflows',
    'opt-outs/lockUnlooked',
    'opt-outs/setLooked',
  ],
  'pictures of users are public': ['workspaces/findUserById'],
  'it makes the workspace': ['workspaces/upsertWorkspace'],
  'it is about whole tables': ['grownTables/analyze', 'grownTables/listGrown'],
}

/**
 * Exported functions that query the database, as `folder/function`, and whether their second parameter is the
 * workspace or a reach.
 */
function queries(): { name: string; hasWorkspace: boolean; takesReach: boolean }[] {
  const files = filesOf(['db']).filter((file) => !/^db\/(migrations|tables)\//.test(file))
  return files.flatMap((file) => {
    const folder = file.split('/').slice(1, -1)[0] ?? file.replace(/^db\/|\.ts$/g, '')
    return exportedFunctions(parseSource(file)).flatMap(([name, { parameters }]) => {
      const [first, second] = parameters.map(({ type }) => type?.getText() ?? '')
      if (first !== 'Db' && first !== 'Trx') return []
      return [
        {
          name: `${folder}/${name}`,
          hasWorkspace: second === 'WorkspaceId' || second === 'Reach',
          takesReach: second === 'Reach',
        },
      ]
    })
  })
}

function exportedFunctions(source: ts.SourceFile): [name: string, ts.FunctionLikeDeclaration][] {
  const isExported = (node: ts.HasModifiers) =>
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false
  return [...nodesOf(source)].flatMap((node): [string, ts.FunctionLikeDeclaration][] => {
    if (ts.isFunctionDeclaration(node) && isExported(node)) return [[node.name?.text ?? '', node]]
    if (!ts.isVariableStatement(node) || !isExported(node)) return []
    return node.declarationList.declarations.flatMap(({ name, initializer }) =>
      initializer && ts.isArrowFunction(initializer) ? [[name.getText(), initializer]] : [],
    )
  })
}

test('every query takes the workspace as second parameter, except those with a reason', () => {
  const found = queries()
  expect(found.length).toBeGreaterThan(100)
  const without = found.filter(({ hasWorkspace }) => !hasWorkspace).map(({ name }) => name)
  expect(without.sort()).toEqual(Object.values(exceptions).flat().sort())
}, 60_000)

/** Queries of mail, domains and keys by a request, whose key may be bound to one domain. */
const reaching = [
  'api-keys/listApiKeys',
  'api-keys/lockApiKey',
  'api-keys/updateApiKeyRevoked',
  'deliveries/cancelScheduled',
  'deliveries/hastenScheduled',
  'deliveries/listEmailAttempts',
  'deliveries/lockScheduled',
  'deliveries/moveScheduled',
  'deliveries/renewScheduledEvents',
  'domains/findDomain',
  'domains/listDomains',
  'domains/lockDomain',
  'emails/findEmail',
  'emails/findEmailSlice',
  'emails/findReachedEmails',
  'emails/listEmails',
  'emails/listExecutionEmails',
  'emails/listWorkflowEmails',
  'jobs/findJob',
  'jobs/listJobFailures',
  'jobs/listJobs',
  'jobs/moveJob',
  'secrets/deleteSecretRow',
  'secrets/findSecretNames',
  'secrets/listSecretValues',
  'secrets/listSecrets',
  'secrets/upsertSecret',
  'stats/listEmailStats',
  'webhooks/deleteWebhookRow',
  'webhooks/findWebhook',
  'webhooks/listWebhooks',
  'webhooks/rotateWebhookSecret',
  'webhooks/updateWebhook',
]

/** What the API may ask of mail, domains and keys by the workspace alone, and why. */
const ofWorkspace: Record<string, string> = {
  'api-keys/findApiKeysByHashes': 'the key tells what the request reaches',
  'emails/listEmailEvents': 'the mail was found within reach just before',
  'webhooks/findWebhookDelivery': 'the webhook was found within reach just before',
  'webhooks/listWebhookDeliveries': 'the webhook was found within reach just before',
}

test('the API reads mail, domains and keys only by queries that take what the key reaches', () => {
  const imported = filesOf(['api']).flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    const pattern =
      /import \{([^}]*)\} from '[./]*\/db\/(emails|deliveries|domains|api-keys|webhooks|jobs|secrets)\/\w+\.ts'/g
    return [...text.matchAll(pattern)].flatMap(([, names = '', folder]) =>
      names.split(',').flatMap((name) => {
        const trimmed = name.trim()
        return /^[a-z]/.test(trimmed) && !trimmed.startsWith('type ')
          ? [`${folder}/${trimmed}`]
          : []
      }),
    )
  })
  const allowed = new Set([...reaching, ...Object.keys(ofWorkspace)])
  expect(imported.length).toBeGreaterThan(8)
  expect(imported.filter((name) => !allowed.has(name))).toEqual([])
  const reach = queries().filter(({ takesReach }) => takesReach)
  expect(reach.map(({ name }) => name).sort()).toEqual(reaching)
}, 60_000)

/** Statements without a workspace, by a part of their text, and why they are safe. */
const unscoped: [statement: RegExp, reason: string][] = [
  [/join delivery_attempts a/, 'the mail was found in the workspace just before'],
  [
    /from "execution_steps" where "execution_id"/,
    'the execution was found in the workspace just before',
  ],
  [/update segment_members m set next_look_at/, 'workers look at the contacts of all workspaces'],
  [/update segment_fills f set next_at/, 'workers fill the segments of all workspaces'],
  [/from "temporal_namespaces"/, 'a namespace of Temporal has runs of all workspaces'],
]

test('every statement of a reading operation names the workspace, except those with a reason', () => {
  const statements = readFileSync('test/golden/queries.sql', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('--'))
  expect(statements.length).toBeGreaterThan(40)
  const bare = statements.filter((statement) => !/\bworkspace_id"? = \$\d/.test(statement))
  const unexplained = bare.filter((statement) => !unscoped.some(([start]) => start.test(statement)))
  expect(unexplained).toEqual([])
  const idle = unscoped.filter(([start]) => !bare.some((statement) => start.test(statement)))
  expect(idle).toEqual([])
})
