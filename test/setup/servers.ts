// Private Postgres and Temporal servers, for tests that stop and start them.
import { inject, onTestFinished } from 'vitest'
import { migrateUrl } from '../../db/migrate.ts'
import type { Postgres } from '../../dev/postgres.ts'
import type { Temporal } from '../../dev/temporal.ts'
import { launchPostgres, launchTemporal } from './launch.ts'
import { stateTriggers } from './states.ts'
import { runSql } from './template.ts'
import { uniqueName } from './unique.ts'

/** A Postgres for this test alone, migrated, to be stopped, killed and restarted at will. */
export async function startPrivatePostgres(): Promise<Postgres> {
  const postgres = await launchPostgres({ folder: inject('runFolder'), name: uniqueName('pg') })
  onTestFinished(() => postgres.kill())
  await migrateUrl(postgres.url)
  await runSql(postgres.url, stateTriggers)
  return postgres
}

/** A Temporal for this test alone, with its data in a file. */
export async function startPrivateTemporal(
  dynamicConfig: Record<string, string | number> = {},
): Promise<Temporal> {
  const temporal = await launchTemporal({
    folder: inject('runFolder'),
    name: uniqueName('temporal'),
    cli: inject('temporalCli'),
    persistent: true,
    dynamicConfig,
  })
  onTestFinished(() => temporal.kill())
  return temporal
}
