// Starts Postgres and Temporal servers. They end with the test run at the latest.
import { join } from 'node:path'
import { recordChild } from '../../dev/processes/children.ts'
import { randomPort } from '../../dev/processes/ports.ts'
import { type Postgres, startPostgres } from '../../dev/servers/postgres.ts'
import { startTemporal, type Temporal } from '../../dev/servers/temporal.ts'

const ATTEMPTS = 5
const quiet = () => undefined

/** Starts a Postgres in `<folder>/<name>` on a random port. */
export async function launchPostgres(options: { folder: string; name: string }): Promise<Postgres> {
  const { folder, name } = options
  const postgres = await withFreshPort((port) =>
    startPostgres({ dataDir: join(folder, name), port, durable: false, log: quiet }),
  )
  return recorded(folder, postgres, ['SIGQUIT'])
}

/** Starts a Temporal server on a random port. `persistent` keeps its data in a file over restarts. */
export async function launchTemporal(options: {
  folder: string
  name: string
  cli: string
  persistent: boolean
  dynamicConfig?: Record<string, string | number>
}): Promise<Temporal> {
  const { folder, name, cli, persistent, dynamicConfig = {} } = options
  const temporal = await withFreshPort((port) =>
    startTemporal({
      cli,
      port,
      logFile: join(folder, `${name}.log`),
      retention_days: 1,
      dynamicConfig,
      ...(persistent ? { dbFile: join(folder, `${name}.db`) } : {}),
    }),
  )
  return recorded(folder, temporal, ['SIGKILL'])
}

/** Another process may take a port between its choice and its use. */
async function withFreshPort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await randomPort())
    } catch (err) {
      if (attempt === ATTEMPTS || !/address already in use/i.test(String(err))) throw err
    }
  }
}

function recorded<S extends Postgres | Temporal>(
  folder: string,
  server: S,
  signals: NodeJS.Signals[],
): S {
  const record = () => recordChild(join(folder, 'children'), server.child, signals)
  record()
  const restart = server.restart
  server.restart = async () => {
    await restart()
    record()
  }
  return server
}
