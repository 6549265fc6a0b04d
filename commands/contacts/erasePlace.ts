// How far the job of an erasure is, as its row has it.
import type { TagPlace } from '../../db/stats/blank.ts'

export interface ErasePlace {
  /** The id of the last execution; '' before the first. */
  execution: string
  /** The key of the last answer that was looked at, in hex, or `ALL_ANSWERS`; '' before the first. */
  answer: string
  /** The last count by tag that was looked at; null: none. */
  tag: TagPlace | null
}

/** In `answer`: there is none left. */
export const ALL_ANSWERS = '-'

/** Reads the place of a job's row. */
export function readPlace(place: string | null): ErasePlace {
  const [execution = '', answer = '', tag = ''] = (place ?? '').split('/')
  return {
    execution,
    answer,
    tag: tag === '' ? null : (JSON.parse(decodeURIComponent(tag)) as TagPlace),
  }
}

export const writePlace = ({ execution, answer, tag }: ErasePlace): string =>
  `${execution}/${answer}/${tag ? encodeURIComponent(JSON.stringify(tag)) : ''}`
