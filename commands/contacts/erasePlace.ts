// How far the job of an erasure is, as its row has it.
import type { ExecutionPlace } from '../../db/contacts/executionWalk.ts'
import type { TeamPlace } from '../../db/contacts/teamMailWalk.ts'
import type { TagPlace } from '../../db/stats/blank.ts'

export interface ErasePlace {
  /** The last execution that was blanked, or `ALL_EXECUTIONS`; null before the first. */
  execution: ExecutionPlace | typeof ALL_EXECUTIONS | null
  /** The key of the last answer that was looked at, in hex, or `ALL_ANSWERS`; '' before the first. */
  answer: string
  /** The last count by tag that was looked at; null: none. */
  tag: TagPlace | null
  /** The last mail to the team that was walked over, or `ALL_TEAM`; null before the first. */
  team: TeamPlace | typeof ALL_TEAM | null
}

/** In `execution`: there is none left. */
export const ALL_EXECUTIONS = '-'
/** In `answer`: there is none left. */
export const ALL_ANSWERS = '-'
/** In `team`: all was walked over once. What has ended since is found without a place. */
export const ALL_TEAM = '-'

/**
 * Reads the place of a job's row. One that a worker of the release before has written has no `team`, and of the executions an id alone, so
 * these are walked over again; that release begins anew, too, where it finds no such id.
 */
export function readPlace(place: string | null): ErasePlace {
  const [execution = '', answer = '', tag = '', team = ''] = (place ?? '').split('/')
  const isId = execution.startsWith('exe_')
  return {
    execution: execution === ALL_EXECUTIONS ? execution : readPart(isId ? '' : execution),
    answer,
    tag: readPart<TagPlace>(tag),
    team: team === ALL_TEAM ? team : readPart<TeamPlace>(team),
  }
}

export const writePlace = ({ execution, answer, tag, team }: ErasePlace): string =>
  [
    execution === ALL_EXECUTIONS ? execution : writePart(execution),
    answer,
    writePart(tag),
    team === ALL_TEAM ? team : writePart(team),
  ].join('/')

const readPart = <T>(part: string): T | null =>
  part === '' ? null : (JSON.parse(decodeURIComponent(part)) as T)

const writePart = (value: object | null): string =>
  value ? encodeURIComponent(JSON.stringify(value)) : ''
