// Describes the machine and the servers of a measurement.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
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

/** Version of a Postgres server, what it was compiled for (`-O2`; `-Os` is for size), and whether it uses fsync. */
export async function describePostgres(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{
      version: string
      compiled: string | null
      fsync: string
    }>(
      `select split_part(current_setting('server_version'), ' ', 1) as version,
        (select substring(setting from '.*(-O\\w)') from pg_config where name = 'CFLAGS') as compiled,
        current_setting('fsync') as fsync`,
    )
    return `${rows[0]?.version} (${rows[0]?.compiled}), fsync ${rows[0]?.fsync}`
  } finally {
    await client.end()
  }
}

/**
 * Measures the RSA-2048 signatures per second of one core with openssl.
 * @param busy how many cores sign meanwhile, as many as what is held against it keeps busy: where two of them share a processor, one that
 *   signs alone is up to half as fast again
 */
export function opensslSigns(busy: number): number {
  const cores = Math.min(busy, availableParallelism())
  const args = ['speed', '-mr', '-seconds', '1', '-multi', String(cores), 'rsa2048']
  const { stdout } = spawnSync('openssl', args, { encoding: 'utf8' })
  // Of all together: +F2:2:2048:<signatures per second>:<verifications per second>. The line of each begins with "Got: ".
  const perSecond = Number(/^\+F2:\d+:2048:([\d.]+)/m.exec(stdout ?? '')?.[1]) / cores
  if (!(perSecond > 1)) throw new Error('openssl speed gave no figure')
  return perSecond
}

/**
 * Whether the kernel divides the processor between sessions before it looks at priorities. It does not for services of
 * systemd or of containers; processes of terminals get such sessions, and each server process of Postgres has its own.
 */
export function groupsSessions(): boolean {
  try {
    return readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'utf8').trim() === '1'
  } catch {
    return false
  }
}
