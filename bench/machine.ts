// Describes the machine and the servers of a measurement.
import { availableParallelism, cpus, totalmem } from 'node:os'
import pg from 'pg'
import type { Machine } from './report.ts'

const GIBIBYTE = 2 ** 30

export function describeMachine(servers: { postgres: string; temporal: string }): Machine {
  return {
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / GIBIBYTE),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.versions.node,
    ...servers,
  }
}

/** Version of a Postgres server, and whether it uses fsync. */
export async function describePostgres(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ version: string; fsync: string }>(
      `select split_part(current_setting('server_version'), ' ', 1) as version,
        current_setting('fsync') as fsync`,
    )
    return `${rows[0]?.version}, fsync ${rows[0]?.fsync}`
  } finally {
    await client.end()
  }
}
