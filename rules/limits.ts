// Limits that callers meet, and numbers that several rooms share, each with its unit in its name. A number that one file
// alone needs stands in that file, and how bodies are read in api/http/bodies/rules.ts.

export const MEBIBYTE = 1024 * 1024

export const limits = {
  pageSize: 50,
  audiencesPageSize: 10,
  recipientsPerEmailMax: 50,
  headersPerEmailMax: 50,
  /** Of a header that cannot be encoded, such as References. */
  headerWordCharsMax: 800,
  tagsPerEmailMax: 50,
  attachmentsPerEmailMax: 100,
  /** The newest attempts of one email that are shown. */
  attemptsShownMax: 200,
  /** Opens and clicks of one recipient that are stored, so that nobody can fill the table with one token. */
  emailEventsPerRecipientMax: 1_000,
  /** 40 MiB of UTF-8. */
  htmlBytesMax: 40 * MEBIBYTE,
  /** Links of one html that are tracked; further ones stay as they are. */
  trackedLinksPerEmailMax: 10_000,
  /** Longer link targets are not tracked, because servers and proxies may refuse them. */
  trackedUrlCharsMax: 8_192,
  /** All attachments of one email, decoded. */
  attachmentsBytesMax: 25 * MEBIBYTE,
  /** 40 MiB of html may double in size as JSON. */
  emailRequestBytesMax: 128 * MEBIBYTE,
  /** A whole message that comes by SMTP. */
  submissionBytesMax: 128 * MEBIBYTE,
  requestBytesMax: 1 * MEBIBYTE,
  /** All of an email's body but `html`, `text` and the contents of attachments. */
  emailRestBytesMax: 1 * MEBIBYTE,
  /** The characters `{ } [ ] , :` of a body, outside its texts. */
  bodyMarksMax: 1_000_000,
  /** Levels of a body: a value of the caller's own may have `jsonDepthMax`, the rest is what stands around it. */
  bodyDepthMax: 80,
  domainNameCharsMin: 4,
  domainNameCharsMax: 253,
  workflowNameCharsMax: 100,
  eventNameCharsMax: 128,
  eventIdCharsMax: 128,
  /** The latest events of one name of a contact that an `event_count` condition counts. */
  eventTimesCountedMax: 10_000,
  eventAheadMsMax: 24 * 60 * 60 * 1000,
  /** Mail is scheduled at most so far ahead: ten years with their leap days. */
  scheduleAheadMsMax: 3_653 * 24 * 60 * 60 * 1000,
  /** An event that happened longer ago when it is posted tells of the past: it starts and wakes nothing. */
  eventBehindMsMax: 72 * 60 * 60 * 1000,
  /** How long a request waits for a lock that another one holds. */
  lockWaitMsMax: 3_000,
  /** How long a request waits for a connection to the database, or for its turn among the events of one contact. */
  placeWaitMsMax: 5_000,
  /** Requests that wait in one such line; further ones are refused at once. */
  placesWaitedForMax: 1_000,
  /** How long one statement of a request may take. */
  statementMsMax: 20_000,
  /** How long an answer of `/readyz` is given again before the servers behind are asked anew. */
  readinessKeptMs: 1_000,
  /** How long the token before a rotation may live on. */
  keyGraceMsMax: 7 * 24 * 60 * 60 * 1000,
  requestIdCharsMax: 128,
  idempotencyKeyCharsMax: 256,
  /** How long the answer of a request with an Idempotency-Key is kept. */
  idempotencyKeptMs: 24 * 60 * 60 * 1000,
  audienceContactsBatchMax: 1000,
  eventsBatchMax: 500,
  emailsBatchMax: 100,
  /** Names and other short texts without a limit of their own. */
  nameCharsMax: 255,
  subjectCharsMax: 998,
  /** A name and an address together, as in From. */
  mailboxCharsMax: 1_024,
  /** The reason of a cancellation. */
  cancelReasonCharsMax: 500,
  templateAliasCharsMax: 64,
  templateBytesMax: 1 * MEBIBYTE,
  /** Tags and outputs of one part of a template; a large newsletter has some hundred. */
  templateTagsMax: 5_000,
  templateTagCharsMax: 10_000,
  /** Of all tags and outputs of one part together. */
  templateTagsCharsMax: 256 * 1024,
  /** Words and signs of one tag, and of all tags and outputs of one part: what the parser makes objects from. */
  templateTagPiecesMax: 4_000,
  templatePiecesMax: 10_000,
  templateTagBracketsMax: 100,
  /** `elsif`, `when` and `else` of one block. */
  templateBranchesMax: 500,
  /** Blocks inside each other. */
  templateDepthMax: 100,
  /** An email that is not rendered in place, in all of its parts: it comes from another process, and is read in one turn. */
  renderedBytesMax: 2 * MEBIBYTE,
  /** Processor time that a template with loops may take at first, and once more in a thread for second tries. */
  renderMs: 500,
  renderAgainMs: 5_000,
  /** How long such a render may wait for others before it is refused for now. */
  renderWaitMsMax: 30_000,
  /** Elements of a range such as `(1..10)`. */
  templateRangeMax: 100_000,
  /** Lists and objects inside each other in a value that a template makes. */
  templateValueDepthMax: 100,
  /** Characters of a text that is searched, times those that are searched for: some 100 ms when both are periodic. */
  templateSearchMax: 100_000_000,
  propertiesBytesMax: 256 * 1024,
  designNodesMax: 300,
  designEdgesMax: 600,
  designBytesMax: 256 * 1024,
  nodeIdCharsMax: 64,
  branchesPerNodeMax: 50,
  variantsPerNodeMax: 50,
  /** Of each of `to` and `cc` of a node. */
  teamAddressesMax: 10,
  /** JSON data that is nested deeper is refused, because jsonb and recursive code have limits. */
  jsonDepthMax: 64,
  conditionDepthMax: 20,
  conditionRulesMax: 200,
  conditionListMax: 1000,
  /**
   * JSON of the conditions that each event of a workspace meets: the filters of triggers of active workflows; and, counted by itself, for each
   * segment that one begins at, its condition and those of the segments that this reads. A process keeps those of several workspaces.
   */
  metConditionsBytesMax: 2 * MEBIBYTE,
  /** The same when a workflow is taken up again whose executions may be held: what was paused meanwhile made room for others. */
  resumedConditionsBytesMax: 4 * MEBIBYTE,
  /** Segments that the condition of one reads, by way of others too. */
  segmentsReadMax: 20,
  pathCharsMax: 255,
  /** `{"var"}` values of one update: each may copy all of a contact's properties. */
  variablesPerNodeMax: 200,
  /** Problems of a design in one answer; a last one says how many there are. */
  problemsShownMax: 500,
  /** A longer duration is refused as a mistake. */
  durationYearsMax: 100,
  /** Longest chain of effects in which each execution causes the next, so that no such loop runs forever. */
  executionChainMax: 10,
  /** How often a contact enters one workflow in an hour, whatever starts it. */
  entriesPerHourMax: 100,
  /** Mails that one execution sends to its contact in 24 hours: waits of a millisecond end no chain of effects. */
  executionMailsPerDayMax: 100,
  exitConditionsMax: 20,
  /** Marketing mails that a `frequency_cap` counts. */
  frequencyCapCountMax: 1_000,
  /** The reason of a step (`why`). */
  stepWhyCharsMax: 200,
  /** Rows of `match` in one wait. */
  matchRowsPerNodeMax: 20,
  /** Events of a contact that the look-back of a wait reads. */
  eventsLookedBackMax: 100,
  /** Of a request of a node, as written. */
  httpUrlCharsMax: 8_192,
  httpHeadersMax: 50,
  /** One header of a request of a node, as written. */
  httpHeaderCharsMax: 8_192,
  /** For one try, from looking up the host to the end of the answer. */
  httpTimeoutMsMax: 30_000,
  httpTimeoutMs: 10_000,
  /** The body of an answer; a longer one is cut, and an error. */
  httpAnswerBytesMax: 256 * 1024,
  /** Tries of one call in all, and the pause after the first; each further one is twice as long. */
  httpTriesMax: 5,
  httpPauseMs: 1_000,
  /** The longest pause that an answer may ask for with Retry-After. */
  httpRetryAfterMsMax: 5 * 60 * 1000,
  /** Calls that one worker makes at once, and those of them to one host. A workspace alone has half of either. */
  httpCallsMax: 100,
  httpCallsPerHostMax: 40,
  /** Of one workspace, disabled ones among them: each event is written for all that ask for it. */
  webhooksMax: 50,
  webhookUrlCharsMax: 2_048,
  webhookDescriptionCharsMax: 500,
  /** Entries of `events` of one webhook. */
  webhookEventsMax: 100,
  /** For one try, from looking up the host to the status of the answer. */
  webhookTimeoutMs: 10_000,
  /** Of the body of an answer, which is not kept. */
  webhookAnswerBytesMax: 1_024,
  /** Tries under way for one endpoint. */
  webhookUnderWayMax: 8,
  /** Of one endpoint; one more disables it. */
  webhookPendingMax: 1_000_000,
  /** Of one endpoint, at which the replay of a period waits: so it does not fill the line that other events stand in. */
  webhookReplayPendingMax: 10_000,
  /** Deliveries of a period up to which a replay counts them; of more nobody is told how many they are. */
  webhookReplayCountMax: 100_000,
  /** Deliveries that a page of a replay looks at for those of its types. */
  webhookReplayLookMax: 5_000,
  /** How long an erasure waits for mail that goes to others too, to blank its content: longer than the life of most of it. */
  eraseWaitsMs: 3 * 24 * 3_600_000,
  /** Pages of a job that Postgres refuses for their data, in a row, before it is given up: some three minutes. */
  jobRefusalsMax: 10,
  /** How long an endpoint may fail before it is disabled. */
  webhookFailingDays: 5,
  /** Of an endpoint at which no try has failed for so long the next failure is the first: more than any pause between two tries. */
  webhookSilentDays: 2,
  /** How long the secret before is valid after a rotation. */
  webhookSecretGraceMs: 24 * 60 * 60 * 1000,
  /** Secrets of before that still sign. */
  webhookSecretsMax: 10,
  secretNameCharsMax: 64,
  secretBytesMax: 8 * 1024,
  secretsPerWorkspaceMax: 100,
  /** Number of days (UTC) with a final soft bounce after which an address is suppressed. */
  softBounceDays: 3,
  /** How long the address is suppressed then. */
  softBounceSuppressedDays: 30,
  /** A complaint that comes so long after its mail was settled suppresses and unsubscribes, and is neither counted nor told. */
  complaintCountedDays: 365,
  /** A domain that the DNS has not known for so long suppresses its addresses when their mail bounces. */
  missingDomainAfter_ms: 24 * 60 * 60 * 1000,
  /** How long they are suppressed then. */
  missingDomainSuppressedDays: 30,
  /** How long one piece of work may keep a worker's main thread busy before it is noted as a suspect. */
  stallMsMax: 2_000,
  /** How long it may do so before the worker is ended. */
  stallMsEnd: 30_000,
  /** How often a suspect may end the worker while it runs alone, before it is given up. */
  suspectDeathsMax: 3,
  /** Tags that are counted apart in one hour of a sending domain, and the same of workflows and broadcasts. */
  statGroupsPerHourMax: 500,
  /** Hours or days of one answer of statistics. */
  statTimesMax: 1_000,
  /** Buckets of one answer of statistics, of all groups together. */
  statBucketsMax: 10_000,
  shards: 64,
  addressCharsMax: 254,
} as const
