// How far the job of an erasure is, as its row has it.
import type { ExecutionPlace } from '../../db/contacts/executionWalk.ts'
import type { TeamPlace } from '../../db/contacts/teamMailWalk.ts'
import type { TagPlace } from '../../db/stats/blank.ts'
import type { CommandDeps } from '../deps.ts'

export interface ErasePlace {
  /** The last execution that was blanked; null before the first. */
  execution: ExecutionPlace | typeof ALL | null
  /** The key of the last answer that was looked at, in hex, or `ALL`; '' before the first. */
  answer: string
  /** The last count by tag that was looked at; null: none. */
  tag: TagPlace | null
  /** The last mail to the team that was walked over; null before the first. What has ended since all was is found without a place. */
  team: TeamPlace | typeof ALL | null
  /** The id of the last mail to others that names them and was walked over, or `ALL`; '' before the first. What has ended since all was is found without a place. */
  naming: string
}

/** In place of the last one: all were walked over, once. */
export const ALL = '-'

type Secrets = Pick<CommandDeps, 'secrets'>

/**
 * Reads the place of a job's row. One that a worker of the release before has written has no `team` or `naming`, of the executions an id alone,
 * and a tag that anybody can read, so these are walked over again; that release begins anew, too, where it finds none of its own.
 */
export function readPlace(deps: Secrets, place: string | null): ErasePlace {
  const [execution = '', answer = '', , team = '', naming = '', tag = ''] = (place ?? '').split('/')
  const isId = execution.startsWith('exe_')
  return {
    execution: isId ? null : readWalk<ExecutionPlace>(execution),
    answer,
    tag: readTag(deps, tag),
    team: readWalk<TeamPlace>(team),
    naming,
  }
}

export const writePlace = (
  deps: Secrets,
  { execution, answer, tag, team, naming }: ErasePlace,
): string => {
  // Third, where the release before had the tag in clear.
  const ofBefore = ''
  const parts = [writePart(execution), answer, ofBefore, writePart(team), naming]
  return [...parts, writeTag(deps, tag)].join('/')
}

/** The tag may name somebody else who is erased before this job goes on, so it is encrypted. */
const writeTag = ({ secrets }: Secrets, tag: TagPlace | null): string =>
  tag ? secrets.encrypt('erasure', Buffer.from(JSON.stringify(tag))).toString('base64url') : ''

/** With a SECRET_KEY that is not listed any more the walk begins anew. */
function readTag({ secrets }: Secrets, part: string): TagPlace | null {
  if (part === '') return null
  try {
    return JSON.parse(secrets.decrypt('erasure', Buffer.from(part, 'base64url')).toString())
  } catch (err) {
    if (err instanceof Error && err.name === 'SecretError') return null
    throw err
  }
}

const readWalk = <T>(part: string): T | typeof ALL | null =>
  part === ALL ? part : readPart<T>(part)

const readPart = <T>(part: string): T | null =>
  part === '' ? null : (JSON.parse(decodeURIComponent(part)) as T)

const writePart = (value: object | typeof ALL | null): string =>
  value === ALL ? value : value ? encodeURIComponent(JSON.stringify(value)) : ''
