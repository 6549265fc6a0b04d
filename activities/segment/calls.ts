// What a segment has to do with requests of its nodes: the secrets that they read, and the row of one that is to be made.
import type { InTrx } from '../../commands/transact.ts'
import { insertCall } from '../../db/executions/calls.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import { listSecretValues } from '../../db/secrets/reads.ts'
import type { Design } from '../../rules/design/types.ts'
import type { HttpCall, SegmentFacts } from '../../rules/interpreterTypes.ts'
import type { Reach } from '../../rules/reach.ts'
import { secretNamesIn } from '../../rules/secretNames.ts'
import type { SegmentInput } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'

/** What is stored of a request, encrypted. */
export interface StoredRequest extends Omit<HttpCall, 'storeAs'> {
  /** Values of secrets, which are taken out of the answer. */
  hidden: string[]
}

/** The secrets that the requests of a design read, by name. Those that are not in reach of who wrote it are left out. */
export async function loadSecrets(
  { db, secrets }: Pick<ActivityDeps, 'db' | 'secrets'>,
  reach: Reach,
  { nodes }: Design,
): Promise<ReadonlyMap<string, string>> {
  const names = secretNamesIn(
    nodes.filter(({ type }) => type === 'http_request').map(({ data }) => data),
  )
  if (names.length === 0) return new Map()
  const found = await listSecretValues(db, reach, names)
  return new Map(
    found.map(({ name, value }) => [name, secrets.decrypt('secret', value).toString('utf8')]),
  )
}

/** Writes the request in which a segment ends. */
export async function writeCall(
  { db, secrets, now }: InTrx<Pick<ActivityDeps, 'db' | 'secrets' | 'now'>>,
  run: {
    input: SegmentInput
    execution: SegmentRow
    sources: { secrets: ReadonlyMap<string, string> }
  },
  { nodeId, call: { storeAs, ...call } }: { nodeId: string; call: HttpCall },
  { goalsReached }: SegmentFacts,
): Promise<void> {
  const request: StoredRequest = { ...call, hidden: [...run.sources.secrets.values()] }
  await insertCall(db, run.execution.workspace_id, {
    ...run.input,
    nodeId,
    storeAs,
    goalsReached,
    request: secrets.encrypt('http-request', Buffer.from(JSON.stringify(request))),
    now: now(),
  })
}
