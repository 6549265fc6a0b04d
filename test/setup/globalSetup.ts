// Before the tests of a project: one Postgres with a migrated template, one Temporal; gone after them.
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { endRecorded } from '../../dev/children.ts'
import { findTemporalCli } from '../../dev/temporalCli.ts'
import { launchPostgres, launchTemporal } from './launch.ts'
import { createRunFolder, removeRunFolder, sweepRunFolders } from './runFolder.ts'
import { makeTemplate } from './template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The database `dripline` of the run's Postgres, as superuser. */
    postgresUrl: string
    temporalAddress: string
    /** Path of the Temporal CLI, for tests that run a server of their own. */
    temporalCli: string
    /** Everything that the run writes. */
    runFolder: string
  }
}

const log = (line: string) => process.stderr.write(`test servers: ${line}\n`)

let folder = ''

export async function setup(project: TestProject): Promise<void> {
  await sweepRunFolders()
  folder = createRunFolder()
  try {
    const cli = await findTemporalCli(process.env, log)
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
