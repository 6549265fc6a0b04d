// This release takes over the database of an earlier one: waiting executions and mail go on, each once.
import { Client, Connection } from '@temporalio/client'
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common'
import { expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import { migrateUrl } from '../../db/migrate.ts'
import { memoKey, searchAttributes, taskQueues, workflowTypes } from '../../rules/wire.ts'
import type { RunExecutionInput, SegmentResult } from '../../workflows/messages.ts'
import { eventually } from '../setup/eventually.ts'
import { createClient } from '../setup/harness.ts'
import { createTestNamespace, type TestNamespace } from '../setup/namespace.ts'
import { startApi, startWorker } from '../setup/processes.ts'
import { startSmtp } from '../setup/smtp.ts'
import { databaseUrl, runSql } from '../setup/template.ts'
import { uniqueName } from '../setup/unique.ts'
import { type LeftBehind, leaveBehind, readLeftBehind } from '../setup/upgrade.ts'

const HOUR_MS = 3_600_000
/** Waits of an hour in the recording end so long after the start of the test. */
const DUE_IN_MS = 20_000

/** Makes an empty database, which is dropped after the test. */
async function createEmptyDatabase(): Promise<string> {
  const server = inject('postgresUrl')
  const name = uniqueName('u').replaceAll('-', '_')
  await runSql(server, `create database ${name}`)
  onTestFinished(() => runSql(server, `drop database ${name} with (force)`))
  return databaseUrl(server, name)
}

/** Starts the waiting executions in Temporal at their last segment, like a run after continue-as-new. */
async function startWaitingRuns(left: LeftBehind, later_ms: number, temporal: TestNamespace) {
  const connection = await Connection.connect({ address: temporal.address })
  onTestFinished(() => connection.close())
  const client = new Client({ connection, namespace: temporal.namespace })
  const key = (name: string) => defineSearchAttributeKey(name, 'KEYWORD')
  for (const execution of left.rows['executions'] ?? []) {
    const executionId = String(execution['id'])
    const segments = (left.rows['execution_segments'] ?? []).filter(
      (row) => row['execution_id'] === executionId,
    )
    const last = segments.at(-1)
    if (!last) continue
    const { next, step, step_count } = last['result'] as SegmentResult
    if (next.kind === 'end' || next.kind === 'call') continue
    const segment = Number(last['segment'])
    const until = next.until === null ? null : next.until + later_ms
    const input: RunExecutionInput = {
      executionId,
      segment: segment + 1,
      wait: { ...next, until, segment } as NonNullable<RunExecutionInput['wait']>,
      woken: [],
    }
    await client.workflow.start(workflowTypes.runExecution, {
      workflowId: executionId,
      taskQueue: taskQueues.executions,
      args: [input],
      memo: { [memoKey]: { step, step_count, updated_at: Date.now(), timer: '' } },
      typedSearchAttributes: new TypedSearchAttributes([
        { key: key(searchAttributes.workspace), value: String(execution['workspace_id']) },
        { key: key(searchAttributes.workflow), value: String(execution['workflow_id']) },
        { key: key(searchAttributes.contact), value: String(execution['contact_id']) },
        {
          key: defineSearchAttributeKey(searchAttributes.waitUntil, 'DATETIME'),
          value: new Date(until ?? Date.UTC(9999, 0, 1)),
        },
      ]),
    })
  }
}

test('executions and mail that an earlier version left waiting go on', async () => {
  const left = readLeftBehind('2026-11-22')
  const later_ms = Date.now() - HOUR_MS + DUE_IN_MS - left.recorded
  const url = await createEmptyDatabase()
  await leaveBehind(url, left, later_ms)

  const temporal = await createTestNamespace()
  await startWaitingRuns(left, later_ms, temporal)
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  const service = {
    databaseUrl: url,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    smtpUrl: smtp.url,
    env: { API_METRICS_PORT: '0', LEASE_SECONDS: '3' },
  }
  // Processes of this release may start before the migration: they wait for the schema.
  const starting = Promise.all([startApi(service), startWorker(service)])
  const [[api]] = await Promise.all([starting, migrateUrl(url)])
  const { db } = connect({ url, poolSize: 2, name: 'test', onIdleError: () => undefined })
  onTestFinished(() => db.destroy())
  const request = createClient(() => api.url, String(left.ids['key']))
  const executionOf = (email: string, workflow: string) => {
    const row = left.rows['executions']?.find(
      (one) => one['email'] === email && one['workflow_id'] === left.ids[workflow],
    )
    return String(row?.['id'])
  }
  const read = async (id: string) =>
    (
      await request<{ status: string; cancellation_reason: string | null }>(
        'GET',
        `/v1/executions/${id}`,
      )
    ).body

  // Executions that waited for a timer, an event, a start, a cancellation.
  await eventually(
    async () => {
      expect(await read(executionOf('ada@example.test', 'sleeps'))).toMatchObject({
        status: 'COMPLETED',
      })
      expect(await read(executionOf('bob@example.test', 'sleeps'))).toMatchObject({
        status: 'COMPLETED',
      })
      expect(await read(executionOf('ada@example.test', 'waits'))).toMatchObject({
        status: 'COMPLETED',
      })
      expect(await read(executionOf('cyd@example.test', 'waits'))).toMatchObject({
        status: 'WAITING',
      })
      expect(await read(String(left.ids['manual']))).toMatchObject({
        status: 'CANCELLED',
        cancellation_reason: 'changed their mind',
      })
    },
    { deadline_ms: 60_000 },
  )
  await request('POST', '/v1/automation/events', {
    event_name: 'paid',
    email: 'bob@example.test',
    properties: { order: 2, amount: 43 },
  })
  await eventually(async () => {
    expect(await read(executionOf('bob@example.test', 'waits'))).toMatchObject({
      status: 'COMPLETED',
    })
  })

  // Every due email is sent once; the one with an unknown outcome has identical bytes.
  await eventually(() => {
    const got = smtp.mails.map(({ to, raw }) => {
      const subject = /^Subject: (.*)\r$/m.exec(raw.toString())?.[1]
      return `${to[0]}: ${subject}`
    })
    expect(got.sort()).toEqual([
      'ada@example.test: Later',
      'ada@example.test: Thanks 42',
      'bob@example.test: Later',
      'bob@example.test: Thanks 43',
      'cyd@example.test: Hello',
      'cyd@example.test: Receipt',
      'held@example.test: To held@example.test',
      'later@example.test: To later@example.test',
      'queued@example.test: To queued@example.test',
    ])
  })
  await eventually(async () => {
    const open = await db
      .selectFrom('deliveries')
      .select('recipient')
      .where('settled_at', 'is', null)
      .execute()
    expect(open).toEqual([])
    const told = await db.selectFrom('outbox').select('kind').execute()
    expect(told).toEqual([])
  })
})
