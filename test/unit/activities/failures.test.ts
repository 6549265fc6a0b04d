// What stands in the history of an execution when a try of its segment fails: nothing of the fault itself.
import { ApplicationFailure } from '@temporalio/activity'
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common'
import { expect, test } from 'vitest'
import { rendererBusy, withClosedFailures } from '../../../activities/segment/failures.ts'
import { createLog } from '../../../runtime/log.ts'

const about = { execution_id: 'exe_1', segment: 0 }
const log = createLog('test', 'silent')
const written = (err: unknown) =>
  JSON.stringify(defaultFailureConverter.errorToFailure(err, defaultPayloadConverter))

test('the text, the cause and the stack of a fault stay out of it', async () => {
  const fault = new Error('connect to secret-host refused', { cause: new Error('secret-cause') })
  const failed = await withClosedFailures(log, about, () => Promise.reject(fault)).catch(
    (err) => err,
  )
  expect(failed).toMatchObject({ type: 'SegmentFailed', nonRetryable: false })
  expect(written(failed)).toContain('SegmentFailed')
  expect(written(failed)).not.toMatch(/secret|\.ts|node_modules/)
})

test('what was said for Temporal goes on as it is', async () => {
  const gone = ApplicationFailure.nonRetryable('no such execution', 'ExecutionGone')
  await expect(withClosedFailures(log, about, () => Promise.reject(gone))).rejects.toBe(gone)
  const later = rendererBusy(4_000)
  expect(later).toMatchObject({ type: 'RendererBusy', nextRetryDelay: 4_000 })
  expect(written(later)).not.toMatch(/\.ts|node_modules/)
  await expect(withClosedFailures(log, about, async () => 1)).resolves.toBe(1)
})
