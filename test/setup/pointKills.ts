// A delivery worker that is killed at each trace point of a delivery and at random moments, under load of all classes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, WorkflowClient } from '@temporalio/client'
import { sql } from 'kysely'
import { inject, onTestFinished } from 'vitest'
import type { TestDatabase } from './database.ts'
import { createKiller, type Kill, type KillMode } from './deliveryKiller.ts'
import { eventually } from './eventually.ts'
import { createClient, seedWorkspace } from './harness.ts'
import { auditKills, type Counted } from './killAudit.ts'
import { startKillLoad } from './killLoad.ts'
import { expectDrained } from './ledger.ts'
import { mxEnv } from './mxEnv.ts'
import { startNameServer } from './nameServer.ts'
import { createTestNamespace } from './namespace.ts'
import { type ServiceEnv, startApi, startWorker, type TestProcess } from './processes.ts'
import { createRandom } from './random.ts'
import { startSmtp } from './smtp.ts'
import { uniqueName } from './unique.ts'

const PRELOADED = new URL('./killAtPoint.mjs', import.meta.url)
const DRAIN_MS = 240_000

interface PointKillOptions {
  seed: number
  kills: readonly Kill[]
  /** RESEND_UNKNOWN. */
  resend: boolean
  /** Called now and then with how far it is. */
  say?: (line: string) => void
}

/**
 * Starts the service, kills its delivery worker as asked, waits until all mail has ended, and audits.
 * @returns faults (empty if all is well) and counts
 */
export async function killAtPoints(database: TestDatabase, options: PointKillOptions) {
  const { seed, kills, resend, say = () => undefined } = options
  const random = createRandom(seed)
  const service = await startService(database, kills, resend)
  const { smtp } = service
  const load = await startKillLoad({ ...service, db: database.db, random })
  const gone: Counted[] = []
  const byPoint: Record<string, number> = {}

  for (const [n, kill] of kills.entries()) {
    await service.killOnce(kill, random)
    byPoint[kill.at] = (byPoint[kill.at] ?? 0) + 1
    for (const one of await load.leave()) {
      gone.push({ ...one, rcpts: smtp.attempts.get(one.recipient) ?? 0 })
    }
    await makeDeferredDue(database)
    if (n % 20 === 19) say(`kill ${n + 1} of ${kills.length}, ${smtp.mails.length} mails arrived`)
  }
  await load.stop()
  await service.runOn(kills.at(-1)?.mode ?? 'relay')
  await eventually(
    async () => {
      await makeDeferredDue(database)
      await expectDrained(database.db)
    },
    { deadline_ms: DRAIN_MS },
  )
  const { faults, counts } = await auditKills(database.db, smtp, {
    resends: (place) => resend && place === 0,
    gone,
  })
  faults.push(...(await auditAnswers(database, load)))
  return { faults, counts: { seed, kills: byPoint, gone: gone.length, ...counts } }
}

/** What the API has accepted is in the ledger: each email with its recipients, each event with its mail. */
async function auditAnswers(
  { db }: TestDatabase,
  { emails, contacts }: Awaited<ReturnType<typeof startKillLoad>>,
): Promise<string[]> {
  const rows = await db.selectFrom('deliveries').select(['email_id', 'recipient']).execute()
  const found = new Map<string, number>()
  for (const { email_id, recipient } of rows) {
    for (const key of [`${email_id} ${recipient}`, recipient]) {
      found.set(key, (found.get(key) ?? 0) + 1)
    }
  }
  const wanted = [...emails].flatMap(([id, to]) => to.map((one) => `${id} ${one}`))
  return [...wanted, ...contacts]
    .filter((key) => found.get(key) !== 1)
    .map((key) => `${key} was accepted, and has ${found.get(key) ?? 0} deliveries`)
}

const makeDeferredDue = ({ db }: TestDatabase) =>
  sql`update deliveries set next_at = now() where state = 'deferred' and next_at > now()`.execute(
    db,
  )

/** The service: all but the delivery worker runs on while that one is killed. */
async function startService(database: TestDatabase, kills: readonly Kill[], resend: boolean) {
  const [temporal, smtp, workspace] = await Promise.all([
    createTestNamespace(),
    startSmtp(),
    seedWorkspace(database.db),
  ])
  onTestFinished(() => smtp.stop())
  const plan = join(inject('runFolder'), uniqueName('plan'))
  writeFileSync(plan, '')
  const base: ServiceEnv = {
    databaseUrl: database.url,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    smtpUrl: smtp.url,
    env: { API_METRICS_PORT: '0', WORKER_ROLES: 'executions' },
  }
  const delivering = {
    WORKER_ROLES: 'delivery',
    LEASE_SECONDS: '1',
    RESEND_UNKNOWN: String(resend),
    NODE_OPTIONS: `--import ${PRELOADED.href}`,
    KILL_PLAN: plan,
  }
  const [api] = await Promise.all([startApi(base), startWorker(base)])
  const workers = new Map<KillMode, TestProcess>()
  for (const mode of new Set(kills.map((kill) => kill.mode))) {
    const more = mode === 'mx' ? await mxService(smtp.port) : {}
    const worker = await startWorker({ ...base, env: { ...base.env, ...delivering, ...more } })
    await worker.kill()
    workers.set(mode, worker)
  }
  const connection = await Connection.connect({ address: temporal.address })
  onTestFinished(() => connection.close())
  const client = new WorkflowClient({ connection, namespace: temporal.namespace })
  const killer = createKiller({ smtp, plan, workers, client })
  return {
    ...workspace,
    ...killer,
    smtp,
    apiUrl: () => api.url,
    request: createClient(() => api.url, workspace.key),
  }
}

/** The environment for direct delivery, with a name server by which all domains have one mail server. */
async function mxService(port: number): Promise<Record<string, string>> {
  const nameServer = await startNameServer({ test: '* MX 10 mx.test.\nmx A 127.0.0.1' })
  onTestFinished(nameServer.close)
  return mxEnv(nameServer, port)
}
