// Private Postgres and Temporal servers, for tests that stop and start them.
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { migrateUrl } from '../../db/migrate.ts'
import type { Postgres } from '../../dev/servers/postgres.ts'
import type { Temporal } from '../../dev/servers/temporal.ts'
import { launchPostgres, launchTemporal } from './launch.ts'
import { stateTriggers } from './states.ts'
import { runSql } from './template.ts'
import { uniqueName } from './unique.ts'

/** Starts a migrated Postgres for one test, which may stop, kill and restart it. */
export async function startPrivatePostgres(): Promise<Postgres> {
  const postgres = await launchPostgres({ folder: inject('runFolder'), name: uniqueName('pg') })
  onTestFinished(() => postgres.kill())
  await migrateUrl(postgres.url)
  await runSql(postgres.url, stateTriggers)
  return postgres
}

/** Starts a Temporal server for one test, with its data in a file, which the test may delete while it does not run. */
export async function startPrivateTemporal(
  dynamicConfig: Record<string, string | number> = {},
): Promise<Temporal & { dbFile: string }> {
  const folder = inject('runFolder')
  const name = uniqueName('temporal')
  const temporal = await launchTemporal({
    folder,
    name,
    cli: inject('temporalCli'),
    persistent: true,
    dynamicConfig,
  })
  onTestFinished(() => temporal.kill())
  return Object.assign(temporal, { dbFile: join(folder, `${name}.db`) })
}
