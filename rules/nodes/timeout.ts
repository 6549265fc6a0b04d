// The field `timeout` that waits have in common, and the handle by which one leaves whose time ran out.
import { isGiven } from '../design/fieldChecks.ts'
import type { JsonObject } from '../json.ts'
import type { Handles } from './define.ts'
import { duration } from './fields.ts'

export const timeout = duration
  .describe('How long it waits, as `PT30M` or `P3D`; absent: without end')
  .exactOptional()

/** When `timeout` is taken, for readers of the docs. */
export const timeoutText =
  'The time ran out. An edge must leave by it when `timeout` is set; without `timeout` it is never taken'

/** @param met the handle by which the wait leaves when what it waits for has come */
export const waitHandles =
  (met: string) =>
  (data: JsonObject): Handles =>
    isGiven(data['timeout'])
      ? { required: [met, 'timeout'], optional: [] }
      : { required: [met], optional: ['timeout'] }
