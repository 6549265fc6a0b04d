// What Temporal learns of an activity whose database is away: neither its address nor a path of this machine.
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { expect, test } from 'vitest'
import { createActivities } from '../../../activities/index.ts'
import { connect } from '../../../db/connect.ts'
import { parseConfig } from '../../../runtime/config.ts'
import { createLog } from '../../../runtime/log.ts'
import { now } from '../../setup/harness.ts'
import { TEST_SECRET_KEY } from '../../setup/processes.ts'

const config = parseConfig({
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://someone:something@127.0.0.1:1/gone',
  SECRET_KEY: TEST_SECRET_KEY,
  SMTP_URL: 'smtp://127.0.0.1:1',
})
const { db } = connect({
  url: config.databaseUrl,
  poolSize: 2,
  name: 'test',
  onIdleError: () => undefined,
})
const world = { db, config, now, log: createLog('test', 'silent'), wake: () => undefined }
const activities = createActivities({
  ...world,
  stopping: new AbortController().signal,
} as unknown as Parameters<typeof createActivities>[0])
const ids = { executionId: 'exe_1', workflowId: 'wf_1', domainId: 'dom_1', nodeId: 'a' }

test.each([
  'runSegment',
  'callHttp',
  'closeCancelled',
  'releaseHeldPage',
  'turnSchedule',
  'checkDomain',
] as const)('%s', async (name) => {
  const run = activities[name] as (input: object) => Promise<unknown>
  const asked = new MockActivityEnvironment().run(run, { ...ids, segment: 0, reason: 'cancelled' })
  const err = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  const failure = defaultFailureConverter.errorToFailure(err, defaultPayloadConverter)
  expect(failure.applicationFailureInfo).toMatchObject({ nonRetryable: false })
  expect(JSON.stringify(failure)).not.toMatch(/127\.0|ECONN|\.ts|node_modules/)
})
