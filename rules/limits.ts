// Every number that the interface promises, with its unit in its name.

const MEBIBYTE = 1024 * 1024

export const limits = {
  pageSize: 50,
  audiencesPageSize: 10,
  recipientsPerEmailMax: 50,
  headersPerEmailMax: 50,
  tagsPerEmailMax: 50,
  attachmentsPerEmailMax: 100,
  /** Attempts of one email that are shown; older ones are not. */
  attemptsShownMax: 200,
  /** Opens and clicks of one recipient that are stored: whoever has a token cannot fill the table. */
  emailEventsPerRecipientMax: 1_000,
  /** 40 MB of UTF-8. */
  htmlBytesMax: 40 * MEBIBYTE,
  /** Links of one html that are tracked; those after them are left as they are. */
  trackedLinksPerEmailMax: 10_000,
  /** Longer targets are left as they are: servers refuse them, and so might a proxy on the way. */
  trackedUrlCharsMax: 8_192,
  /** All attachments of one email, decoded. */
  attachmentsBytesMax: 25 * MEBIBYTE,
  /** 40 MB of html may double as JSON. */
  emailRequestBytesMax: 128 * MEBIBYTE,
  requestBytesMax: 1 * MEBIBYTE,
  domainNameCharsMin: 4,
  domainNameCharsMax: 253,
  workflowNameCharsMax: 100,
  eventNameCharsMax: 128,
  eventIdCharsMax: 128,
  /** Events of one name of a contact that an `event_count` counts, the latest. */
  eventTimesCountedMax: 10_000,
  eventAheadMsMax: 24 * 60 * 60 * 1000,
  requestIdCharsMax: 128,
  audienceContactsBatchMax: 1000,
  /** Names, subjects, headers and the like, where the spec is silent. */
  nameCharsMax: 255,
  subjectCharsMax: 998,
  /** A name and an address, as they stand in From. */
  mailboxCharsMax: 1_024,
  /** Why an execution is cancelled. */
  cancelReasonCharsMax: 500,
  templateAliasCharsMax: 64,
  templateBytesMax: 1 * MEBIBYTE,
  propertiesBytesMax: 256 * 1024,
  designNodesMax: 300,
  designEdgesMax: 600,
  designBytesMax: 256 * 1024,
  nodeIdCharsMax: 64,
  branchesPerNodeMax: 50,
  /** Free-form data nested deeper than this is refused: neither jsonb nor recursion holds without end. */
  jsonDepthMax: 64,
  conditionDepthMax: 20,
  conditionRulesMax: 200,
  conditionListMax: 1000,
  pathCharsMax: 255,
  /** `{"var"}` values of one update: each may copy all of a contact's properties. */
  variablesPerNodeMax: 200,
  /** Waits have no upper bound in meaning; a hundred years is taken for a mistake. */
  durationYearsMax: 100,
  /** Nodes that one segment may enter before it is taken for an endless loop. */
  stepsPerSegmentMax: 1000,
  /** Executions that lead to each other by the mail they send end here, so that no loop runs for ever. */
  executionChainMax: 10,
  /** Why a step took its handle. */
  stepWhyCharsMax: 200,
  /** Rows of `match` that one wait may have. */
  matchRowsPerNodeMax: 20,
  /** Events of a contact that a wait looks back at. */
  eventsLookedBackMax: 100,
  /** Days (UTC) with a final soft bounce that suppress an address, the last one included. */
  softBounceDays: 3,
  /** How long it is left alone then. */
  softBounceSuppressedDays: 30,
  shards: 64,
  addressCharsMax: 254,
} as const
