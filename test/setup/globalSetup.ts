// Starts one Postgres with a migrated template and one Temporal before the tests of a project, and stops them
// afterwards.
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { createConsole } from '../../dev/console.mjs'
import { endRecorded } from '../../dev/processes/children.ts'
import { findTemporalCli } from '../../dev/servers/temporalCli.ts'
import { startBuild } from './built.ts'
import { launchPostgres, launchTemporal } from './launch.ts'
import { createRunFolder, removeRunFolder, sweepRunFolders } from './runFolder.ts'
import { makeTemplate } from './template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of the database `dripline` in the run's Postgres, as superuser. */
    postgresUrl: string
    temporalAddress: string
    /** Path of the Temporal CLI, for tests that start another server. */
    temporalCli: string
    /** Folder for everything that the run writes. */
    runFolder: string
  }
}

let folder = ''

export async function setup(project: TestProject): Promise<void> {
  await sweepRunFolders()
  folder = createRunFolder()
  try {
    await startBuild(folder)
    const cli = await findTemporalCli(process.env, createConsole(process.stderr).part('temporal'))
    const [postgres, temporal] = await Promise.all([
      launchPostgres({ folder, name: 'postgres' }),
      launchTemporal({ folder, name: 'temporal', cli, persistent: false }),
    ])
    await makeTemplate(postgres.url)
    project.provide('postgresUrl', postgres.url)
    project.provide('temporalAddress', temporal.address)
    project.provide('temporalCli', cli)
    project.provide('runFolder', folder)
  } catch (err) {
    await teardown()
    throw err
  }
}

export async function teardown(): Promise<void> {
  await endRecorded(join(folder, 'children'))
  removeRunFolder(folder)
}
