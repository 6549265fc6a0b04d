// The parts of npm start: each is started, or taken from the environment, recorded and watched.
import { migrateUrl } from '../db/migrate.ts'
import { prepareTemporal } from '../runtime/temporal.ts'
import { recordChild } from './children.ts'
import type { DevFolder } from './folder.ts'
import { inboxUrls, startInbox } from './inbox.ts'
import type { Ports } from './ports.ts'
import { startPostgres } from './postgres.ts'
import type { Child } from './processes.ts'
import type { createSay } from './screen.ts'
import { type ServiceName, startService, waitReady } from './services.ts'
import { type Supervised, supervise } from './supervisor.ts'
import { startTemporal } from './temporal.ts'
import { findTemporalCli } from './temporalCli.ts'

/** The longest wait is the API's and the worker's; all together stay under 15 s. */
const SERVICE_STOP_MS = 7_000
const BACKING_STOP_MS = 3_000
const RETENTION_DAYS = 3

export interface PartsOptions {
  env: Record<string, string | undefined>
  folder: DevFolder
  ports: Ports
  say: ReturnType<typeof createSay>
  /** A part is down for good. */
  onGone: (reason: string) => void
}

export type Parts = ReturnType<typeof createParts>

export function createParts({ env, folder, ports, say, onGone }: PartsOptions) {
  const services: Supervised[] = []
  const backing: (() => Promise<void>)[] = []

  /** `signals`: how it is asked to end when a killed run left it; then comes SIGKILL. */
  const record = (child: Child, signals: NodeJS.Signals[]) =>
    recordChild(folder.children, child, signals)

  return {
    /** @returns its URL, migrated */
    async postgres(): Promise<string> {
      const tell = say('postgres')
      let url = env['DATABASE_URL']
      if (!url) {
        const postgres = await startPostgres({
          dataDir: folder.postgres,
          port: ports.postgres,
          durable: true,
          log: tell,
          logFile: folder.log('postgres'),
        })
        const signals: NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
        const watched = supervise({ child: record(postgres.child, signals), say: tell, onGone })
        backing.push(() => watched.stop({ signals, wait_ms: BACKING_STOP_MS }))
        url = postgres.url
      }
      const ran = await migrateUrl(url).catch((err) => {
        throw new Error(`The database cannot be migrated: ${err.message}`, { cause: err })
      })
      const where = env['DATABASE_URL'] ? 'of DATABASE_URL' : `on port ${ports.postgres}`
      tell(`ready ${where}, ${ran.length === 0 ? 'schema up to date' : `${ran.length} migrations`}`)
      return url
    },

    async temporal(namespace: string): Promise<{ address: string; uiUrl: string | null }> {
      const tell = say('temporal')
      const given = env['TEMPORAL_ADDRESS']
      if (given) {
        await prepareTemporal(given, namespace).catch((err) => {
          throw new Error(`Temporal at ${given} does not answer: ${err.message}`, { cause: err })
        })
        tell(`ready at ${given}`)
        return { address: given, uiUrl: env['TEMPORAL_UI_URL'] || null }
      }
      const temporal = await startTemporal({
        cli: await findTemporalCli(env, tell),
        dbFile: folder.temporalDb,
        port: ports.temporal,
        uiPort: ports.temporalUi,
        logFile: folder.log('temporal'),
        retention_days: RETENTION_DAYS,
      })
      const watched = supervise({ child: record(temporal.child, ['SIGTERM']), say: tell, onGone })
      backing.push(() => watched.stop({ wait_ms: BACKING_STOP_MS }))
      if (namespace !== 'default') await prepareTemporal(temporal.address, namespace)
      tell(`ready on port ${ports.temporal}, Web UI on ${ports.temporalUi}`)
      return { address: temporal.address, uiUrl: temporal.uiUrl }
    },

    /** Its addresses are known at once; mail waits until it is ready. */
    inbox(): { smtpUrl: string; webUrl: string | null; ready: Promise<void> } {
      const given = env['SMTP_URL']
      if (given) return { smtpUrl: given, webUrl: null, ready: Promise.resolve() }
      const tell = say('inbox')
      const options = {
        folder: folder.inbox,
        webPort: ports.inboxWeb,
        smtpPort: ports.inboxSmtp,
        logFile: folder.log('inbox'),
      }
      const start = async () => record(await startInbox(options), [])
      const ready = start().then((child) => {
        const watched = supervise({ child, start, say: tell, onGone })
        backing.push(() => watched.stop({ wait_ms: BACKING_STOP_MS }))
        tell(`ready on port ${ports.inboxWeb}, SMTP on ${ports.inboxSmtp}`)
      })
      // It is awaited later; until then its failure must not end the process.
      ready.catch(() => undefined)
      return { ...inboxUrls(options), ready }
    },

    /** The API or the worker, ready at `readyUrl`. */
    async service(name: ServiceName, serviceEnv: Record<string, string>, readyUrl: string) {
      const tell = say(name)
      const start = async () => record(await startService(name, serviceEnv, folder.log(name)), [])
      const child = await start()
      await waitReady(child, readyUrl)
      services.push(supervise({ child, start, say: tell, onGone }))
      tell(`ready, pid ${child.pid}`)
    },

    /** What uses the others stops before them. */
    async stop(): Promise<void> {
      await Promise.all(services.map((service) => service.stop({ wait_ms: SERVICE_STOP_MS })))
      await Promise.all(backing.map((stop) => stop()))
    },
  }
}
