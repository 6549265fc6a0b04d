// Measures how long an email takes from its request to its settlement when nothing else runs.
import { sql } from 'kysely'
import { emailBody } from './payloads.ts'
import { percentile, type Spread, spread } from './report.ts'
import { waitFor } from './waitFor.ts'
import type { Workspace } from './workspace.ts'

const DEADLINE_MS = 10_000

/**
 * Posts emails one after the other, each when the one before is settled. A time is from the email's created_at to
 * its delivery's settled_at, by the clocks of API and worker.
 * @returns the 99th percentile (as `median`), the minimum and the maximum
 */
export async function measureLatency(
  { db, token }: Workspace,
  apiUrl: string,
  count: number,
): Promise<Spread> {
  const times: number[] = []
  for (let serial = 0; serial < count; serial++) {
    const response = await fetch(`${apiUrl}/v1/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(emailBody(serial)),
    })
    const { id } = (await response.json()) as { id?: string }
    if (!id) throw new Error(`POST /v1/emails: ${response.status}`)
    const time = await waitFor(DEADLINE_MS, 'the email is delivered', async () => {
      const { rows } = await sql<{ ms: number | null }>`
        select (extract(epoch from d.settled_at - e.created_at) * 1000)::float8 as ms
        from emails e join deliveries d on d.email_id = e.id where e.id = ${id}`.execute(db)
      return rows[0]?.ms ?? undefined
    })
    times.push(time)
  }
  return { ...spread(times, 'ms'), median: percentile(times, 0.99) }
}
