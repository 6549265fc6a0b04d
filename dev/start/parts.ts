// The parts of npm start. Each is started (or taken from the environment), recorded and watched.
import { migrateUrl } from '../../db/migrate.ts'
import { prepareTemporal } from '../../runtime/temporal.ts'
import { type Console, showing } from '../console.mjs'
import { recordChild } from '../processes/children.ts'
import type { Ports } from '../processes/ports.ts'
import type { Child } from '../processes/processes.ts'
import { type Supervised, supervise } from '../processes/supervisor.ts'
import { inboxUrls, startInbox } from '../servers/inbox.ts'
import { startPostgres } from '../servers/postgres.ts'
import { type ServiceName, startService, waitReady } from '../servers/services.ts'
import { startTemporal } from '../servers/temporal.ts'
import { findTemporalCli } from '../servers/temporalCli.ts'
import type { DevFolder } from './folder.ts'
import { stopWaits } from './stopWaits.ts'

const RETENTION_DAYS = 3

export interface PartsOptions {
  env: Record<string, string | undefined>
  folder: DevFolder
  ports: Ports
  console: Console
  /** Called when a part has ended and is not started again. */
  onGone: (reason: string) => void
}

export type Parts = ReturnType<typeof createParts>

export function createParts({ env, folder, ports, console, onGone }: PartsOptions) {
  const waits = stopWaits(env)
  const services: Supervised[] = []
  const backing: (() => Promise<void>)[] = []

  /** `signals` are sent before SIGKILL if a killed run left the child. */
  const record = (child: Child, signals: NodeJS.Signals[]) =>
    recordChild(folder.children, child, signals)

  return {
    /** Starts and migrates Postgres. @returns its URL */
    async postgres(): Promise<string> {
      const part = console.part('postgres')
      let url = env['DATABASE_URL']
      if (!url) {
        const starting = startPostgres({
          dataDir: folder.postgres,
          port: ports.postgres,
          durable: true,
          env,
          log: part.say,
          logFile: folder.log('postgres'),
        })
        const postgres = await showing(part, (seconds) => `starting, ${seconds} s`, starting)
        const signals: NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
        const { say } = part
        const watched = supervise({ child: record(postgres.child, signals), say, onGone })
        backing.push(() => watched.stop({ signals, wait_ms: waits.backing_ms }))
        url = postgres.url
      }
      const migrating = migrateUrl(url).catch((err) => {
        throw new Error(`The schema cannot be migrated: ${err.message}.`, { cause: err })
      })
      const ran = await showing(part, (seconds) => `migrating the schema, ${seconds} s`, migrating)
      const where = env['DATABASE_URL'] ? 'of DATABASE_URL' : `on port ${ports.postgres}`
      const schema = ran.length === 0 ? 'schema up to date' : `${ran.length} migrations`
      part.say(`ready ${where}, ${schema}`)
      return url
    },

    async temporal(namespace: string): Promise<{ address: string; uiUrl: string | null }> {
      const part = console.part('temporal')
      const describe = (seconds: number) => `starting, ${seconds} s`
      const given = env['TEMPORAL_ADDRESS']
      if (given) {
        const preparing = prepareTemporal(given, namespace).catch((err) => {
          throw new Error(
            `TEMPORAL_ADDRESS is ${given}, and no Temporal with a namespace ${namespace} answers there ` +
              `(${err.message}): correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE, or unset both.`,
            { cause: err },
          )
        })
        await showing(part, describe, preparing)
        part.say(`ready at ${given}`)
        return { address: given, uiUrl: env['TEMPORAL_UI_URL'] || null }
      }
      const starting = startTemporal({
        cli: await findTemporalCli(env, part),
        dbFile: folder.temporalDb,
        port: ports.temporal,
        uiPort: ports.temporalUi,
        logFile: folder.log('temporal'),
        retention_days: RETENTION_DAYS,
        onSpawn: (child) => void record(child, ['SIGTERM']),
      })
      const temporal = await showing(part, describe, starting)
      const watched = supervise({ child: temporal.child, say: part.say, onGone })
      backing.push(() => watched.stop({ wait_ms: waits.backing_ms }))
      if (namespace !== 'default') await prepareTemporal(temporal.address, namespace)
      part.say(`ready on port ${ports.temporal}, Web UI on ${ports.temporalUi}`)
      return { address: temporal.address, uiUrl: temporal.uiUrl }
    },

    /** Starts the inbox. Its addresses are known at once; `ready` resolves when it accepts mail. */
    inbox(): { smtpUrl: string; webUrl: string | null; ready: Promise<void> } {
      const given = env['SMTP_URL']
      if (given) return { smtpUrl: given, webUrl: null, ready: Promise.resolve() }
      const part = console.part('inbox')
      const options = {
        folder: folder.inbox,
        webPort: ports.inboxWeb,
        smtpPort: ports.inboxSmtp,
        logFile: folder.log('inbox'),
      }
      const start = async () => record(await startInbox(options), [])
      const starting = showing(part, (seconds) => `starting, ${seconds} s`, start())
      const ready = starting.then((child) => {
        const watched = supervise({ child, start, say: part.say, onGone })
        backing.push(() => watched.stop({ wait_ms: waits.backing_ms }))
        part.say(`ready on port ${ports.inboxWeb}, SMTP on ${ports.inboxSmtp}`)
      })
      // It is awaited later. Until then its failure must not end the process.
      ready.catch(() => undefined)
      return { ...inboxUrls(options), ready }
    },

    /** Starts the API or the worker and waits until `readyUrl` answers. */
    async service(name: ServiceName, serviceEnv: Record<string, string>, readyUrl: string) {
      const part = console.part(name)
      const start = async () => record(await startService(name, serviceEnv, folder.log(name)), [])
      const child = await start()
      const ready = waitReady(child, readyUrl)
      await showing(part, (seconds) => `starting, ${seconds} s`, ready)
      services.push(supervise({ child, start, say: part.say, onGone }))
      part.say(`ready, pid ${child.pid}`)
    },

    /** Stops all parts, users of a part before that part. */
    async stop(): Promise<void> {
      await Promise.all(services.map((service) => service.stop({ wait_ms: waits.service_ms })))
      await Promise.all(backing.map((stop) => stop()))
    },
  }
}
